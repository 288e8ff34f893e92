/** Errors and warnings in the log: which of them count, and where they come from. */
import { LOG_LEVELS } from '../../contracts/log-levels.ts'
import { at, certainty, occurrences, sentences } from './describe-finding.ts'
import { placeOfMatch, placeOfNames, placeOfTrace, type Place } from './find-place.ts'
import { readMatters, type Matter } from './matters.ts'
import { namedThings } from './named-things.ts'
import { beganWith, timeOf, type Finding, type Picture } from './picture.ts'
import { exceptionName } from './stack-trace.ts'
import { counts, faultOf, isSevere, withoutQuotations, type Fault } from './what-counts.ts'

/** `isTraced`: a stack trace tells where it happened. */
type Found = Finding & { readonly matter: Matter; readonly isTraced: boolean }

/** Calls that placing one may take. */
const CALLS_EACH = 4

export async function findErrors(picture: Picture): Promise<Finding[]> {
  const found: Found[] = []
  for (const { matter, fault } of await readJudged(picture)) {
    if (!picture.reader.mayCall(CALLS_EACH)) break
    const finding = await findingOf(picture, matter, fault)
    if (finding) found.push(finding)
  }
  return onePerPlace(withoutConsequences(found))
}

/** What would count if its place were certain, the worst first. */
async function readJudged(picture: Picture): Promise<{ matter: Matter; fault: Fault }[]> {
  return (await readMatters(picture))
    .map((matter) => ({ matter, fault: faultIn(matter) }))
    .filter(({ matter, fault }) => countsAs(picture, matter, fault, true))
    .toSorted((a, b) => weightOf(picture, b.matter, b.fault) - weightOf(picture, a.matter, a.fault))
}

const countsAs = (picture: Picture, { group, isRetried }: Matter, fault: Fault, isPlaced: boolean): boolean =>
  counts(picture, { group, fault, isRetried, isPlaced })

/** An app that warns of what it refused was asked for something bad, whatever exception told it so. */
const faultIn = ({ group, trace, message, said, line }: Matter): Fault =>
  group.level === 'warn' && faultOf(said) === 'request'
    ? 'request'
    : faultOf([trace?.exception ?? '', message, ...(trace ? [] : loggedErrors(line.text))].join(' '))

function weightOf(picture: Picture, { group }: Matter, fault: Fault): number {
  const byFault = { code: 40, capacity: 20, unknown: 15, dependency: 10, request: 0 }[fault]
  const byDeployment = beganWith(picture, group) ? 15 : 0
  return (
    byFault + 6 * LOG_LEVELS.indexOf(group.level) + byDeployment + Math.min(20, Math.log2(group.count) * 3)
  )
}

/** Without a place, fewer may be anything. */
const UNPLACED_MIN = 3

async function findingOf(picture: Picture, matter: Matter, fault: Fault): Promise<Found | null> {
  const { group, trace, message, line } = matter
  const place = await placeOf(picture, matter)
  // It names files of the app, and does not fit them: another revision, or a forgery.
  if (!place && trace && isSevere(group.level)) {
    picture.reader.miss()
    return null
  }
  if (!countsAs(picture, matter, fault, place?.by === 'frame')) return null
  if (!place && group.count < UNPLACED_MIN && group.level !== 'fatal') return null
  const deployment = beganWith(picture, group)
  const name =
    trace?.exception ??
    exceptionName(withoutQuotations(message)) ??
    (isSevere(group.level) ? 'Error' : 'A warning')
  return {
    matter,
    kind: kindOf(fault, message),
    place,
    isTraced: place?.by === 'frame' || place?.by === 'moved',
    weight: weightOf(picture, matter, fault) + (place ? 10 : 0),
    since: timeOf(group.first_at),
    evidence: [line.ref, ...(place ? [place.ref] : []), ...(deployment ? [deployment.ref] : [])],
    summary: sentences(
      `${name}${at(place)}: ${occurrences(group)}.`,
      certainty(place),
      deployment ? `It began with deployment ${deployment.id}.` : '',
    ),
  }
}

async function placeOf(picture: Picture, { trace, message, statement }: Matter): Promise<Place | null> {
  if (trace) return placeOfTrace(picture, trace, message)
  const byWords = statement && placeOfMatch(statement, null, 'words')
  return (await placeOfNames(picture, namedThings(message), byWords)) ?? byWords
}

/** Errors as fields of a line: `"err":"…"`, `error="…"`. */
const loggedErrors = (text: string): string[] =>
  [
    ...text
      .slice(0, 4_000)
      .matchAll(
        /(?:^|[\s{,"])(?:err|error|cause|reason|exception|detail)"?\s?[=:]\s?"((?:[^"\\]|\\.){6,300})"/g,
      ),
  ].map(([, said]) => said!)

const CONFIGURATION =
  /\b[A-Z][A-Z0-9]*_[A-Z0-9_]{2,80} (?:is |was )?(?:not set|missing|required|empty)|\bnot configured\b|\b[Mm]issing (?:env|setting|config)|\b[Cc]annot find module\b|\b[Nn]o module named\b/

/** By the message alone: what changes from night to night would make another finding of the same thing. */
const kindOf = (fault: Fault, message: string): Finding['kind'] => {
  if (CONFIGURATION.test(message)) return 'configuration'
  return fault === 'dependency' || fault === 'capacity' ? 'availability' : 'error'
}

/** What follows from an error is logged within so long of it. */
const NEAR_MS = 2_000
/** If an error is logged nearly all the time, everything is logged near it. */
const COVERED_MAX = 0.5

/** One failure is often logged again by whoever gave up because of it: without those that come only beside a traced one that is as severe. */
function withoutConsequences(found: readonly Found[]): Found[] {
  const traced = found.filter(({ isTraced }) => isTraced)
  return found.filter((one) => {
    if (one.isTraced) return true
    const severity = LOG_LEVELS.indexOf(one.matter.group.level)
    const causes = traced
      .filter(({ matter }) => LOG_LEVELS.indexOf(matter.group.level) >= severity)
      .flatMap(({ matter }) => matter.times)
    const from = Math.min(...causes) - NEAR_MS
    const own = one.matter.times.filter((time) => time >= from)
    const span = Math.max(...own, ...causes) - from
    const isNear = (time: number): boolean => causes.some((cause) => Math.abs(cause - time) <= NEAR_MS)
    return own.length === 0 || causes.length * 2 * NEAR_MS > COVERED_MAX * span || !own.every(isNear)
  })
}

/** Several messages of one line are one finding. With the evidence of the best alone, so that it is the same every night. */
function onePerPlace(findings: readonly Finding[]): Finding[] {
  const byPlace = new Map<string, Finding>()
  for (const finding of findings.toSorted((a, b) => b.weight - a.weight)) {
    const key = finding.place ? `${finding.place.path}:${finding.place.line}` : finding.summary
    if (!byPlace.has(key)) byPlace.set(key, finding)
  }
  return [...byPlace.values()]
}
