/** What a run of the rules looks at first: the groups of log lines, checks and deployments of the days that are kept. */
import type { Place, Source } from './find-place.ts'
import type { FindingKind } from '../../contracts/agent-tools.ts'
import type { Check, Deployment, LogGroup } from './reader.ts'

export type Picture = Source & {
  readonly now: number
  readonly groups: readonly LogGroup[]
  /** Those of errors, each by itself. */
  readonly severe: readonly LogGroup[]
  /** When the first line was logged. */
  readonly oldest: number
  readonly checks: readonly Check[]
  /** Newest first. */
  readonly deployments: readonly Deployment[]
  /** There are files that are not in the list. */
  readonly hasMoreFiles: boolean
  /** The source that is read is the one that runs, as far as deployments tell. */
  readonly isRunning: boolean
}

export type Finding = {
  readonly kind: FindingKind
  /** Our own words, names of functions and paths: nothing that a log line says. */
  readonly summary: string
  readonly evidence: readonly string[]
  readonly place: Place | null
  readonly weight: number
  /** When what it tells of was first seen. */
  readonly since: number
}

const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** What stopped so long ago is over, or was seen by earlier runs. */
export const RECENT_MS = 72 * HOUR_MS

export const timeOf = (time: string): number => Date.parse(time)

/** A line, or a result of a check: without any there is nothing that could tell of health. */
export const isHeardFrom = ({ groups, checks, now }: Picture): boolean =>
  [...groups.map(({ last_at }) => last_at), ...checks.flatMap(({ runs }) => runs[0]?.at ?? [])].some(
    (time) => now - timeOf(time) <= RECENT_MS,
  )

/** What begins so soon after a deployment is taken to have come with it. */
const AFTER_DEPLOYMENT_MS = 2 * HOUR_MS
/** So long before it there must have been lines, to know that it was not there. */
const BEFORE_DEPLOYMENT_MS = 3 * HOUR_MS

/** The deployment with which a group of lines began, if it began with one. */
export function beganWith(picture: Picture, { first_at }: LogGroup): Deployment | null {
  const deployment = beganWithDeployment(picture, timeOf(first_at))
  return deployment && picture.oldest <= succeededAt(deployment)! - BEFORE_DEPLOYMENT_MS ? deployment : null
}

export const beganWithDeployment = ({ deployments }: Picture, began: number): Deployment | null =>
  deployments.find((deployment) => {
    const at = succeededAt(deployment)
    return at !== null && began >= at - MINUTE_MS && began <= at + AFTER_DEPLOYMENT_MS
  }) ?? null

const succeededAt = ({ state, ended_at }: Deployment): number | null =>
  state === 'succeeded' && ended_at !== null ? timeOf(ended_at) : null

/** Not seen since the last deployment, for longer than it used to stay away. */
export function isFixed({ deployments, now }: Picture, group: LogGroup): boolean {
  const at = deployments.map(succeededAt).find((time) => time !== null)
  if (at === undefined || at === null || timeOf(group.last_at) >= at) return false
  return now - at >= 3 * meanIntervalMs(group)
}

export const meanIntervalMs = ({ count, first_at, last_at }: LogGroup): number =>
  count < 2 ? 0 : (timeOf(last_at) - timeOf(first_at)) / (count - 1)

/** Two groups that come and go together are two lines of one thing. */
export function isTogether(a: LogGroup, b: LogGroup): boolean {
  const isNear = (x: string, y: string) => Math.abs(timeOf(x) - timeOf(y)) <= 2_000
  return (
    isNear(a.first_at, b.first_at) &&
    isNear(a.last_at, b.last_at) &&
    Math.min(a.count, b.count) >= 0.8 * Math.max(a.count, b.count)
  )
}

/** Fewer say nothing about a day. */
const MUCH_MIN = 20
const RISE = 3

/** Most of the log of the last day, or more than on the days before. */
export function isMuch({ groups, now, oldest }: Picture, { count: ever, today: count }: LogGroup): boolean {
  if (count < MUCH_MIN) return false
  const all = groups.reduce((sum, { today }) => sum + today, 0)
  const daysBefore = (now - oldest) / DAY_MS - 1
  return 2 * count > all || (daysBefore >= 1 && count >= RISE * ((ever - count) / daysBefore))
}

export const failingChecks = ({ checks }: Picture): Check[] =>
  checks.filter(({ state, runs }) => state === 'fail' && runs[0]?.result === 'fail')

/** It came with a deployment, or a check has failed since then. */
export const isChange = (picture: Picture, group: LogGroup): boolean =>
  beganWith(picture, group) !== null ||
  failingChecks(picture).some(({ state_since }) => {
    const later = timeOf(state_since ?? group.first_at) - timeOf(group.first_at)
    return later >= -HOUR_MS && later <= 6 * HOUR_MS
  })
