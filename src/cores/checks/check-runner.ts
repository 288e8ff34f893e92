/**
 * Runs checks that are due. Of each kind at most so many at a time in a process, and of one organization a share of them; a
 * slot is free again when the result is written, so that what is claimed is also settled. What is claimed is worked on at
 * once: nothing waits under a lease that runs, and reading logs holds up no request.
 */
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import type { Log, Storage } from '../dependencies.ts'
import { createTurns, type Turns } from '../work/index.ts'
import { pauseOf } from './check-rows.ts'
import { claimChecks, releaseCheckClaims, type CheckKind, type ClaimedCheck } from './claim-checks.ts'
import type { HttpProbe } from './http-probe-port.ts'
import type { WithJudge } from './judge-port.ts'
import type { WithMatchLines } from './match-lines-port.ts'
import { measureHttp } from './measure-http.ts'
import { measureJudge } from './measure-judge.ts'
import { measureLogs } from './measure-logs.ts'
import { measured, type Measurement } from './measurement.ts'
import { settleRuns, type FinishedRun } from './settle-runs.ts'
import { openSecrets } from './stored-definition.ts'

export type CheckRunnerDeps = Storage &
  Log &
  WithJudge &
  WithMatchLines & { readonly dataKeys: DataKeys; readonly probeHttp: HttpProbe }

export type CheckRunnerOptions = {
  /** Called with each result. */
  readonly onResult?: () => void
  /** Of http checks, as the next one. */
  readonly inFlightMax?: number
  readonly perOrganization?: number
  readonly leaseSeconds?: number
}

export type CheckRunner = {
  hasCapacity(): boolean
  /** Claims and starts what is due; how many that were. */
  claim(): Promise<number>
  /** Writes the results there are; false: there was none. */
  settle(): Promise<boolean>
  hasInFlight(): boolean
  /** Resolves with the next result. */
  nextResult(): Promise<void>
  /** Gives back what was not settled. */
  release(): Promise<void>
}

const IN_FLIGHT_MAX = 256
/** Hosts that do not answer hold a slot for up to 30 seconds: those of seven organizations leave the eighth its share. */
const PER_ORGANIZATION = 32
/** Longer than any check takes: the slowest, a judge, has a minute and a half. */
const LEASE_SECONDS = 150
/** Reading logs is work for the database: so many at a time, one of each organization. */
const LOG_READERS = { total: 4, perOrganization: 1 }
/** A judge waits for its model most of the time, and reads what it asks about before. */
const JUDGES = { total: 64, perOrganization: 8 }

export function createCheckRunner(
  deps: CheckRunnerDeps,
  {
    onResult,
    inFlightMax = IN_FLIGHT_MAX,
    perOrganization = PER_ORGANIZATION,
    leaseSeconds = LEASE_SECONDS,
  }: CheckRunnerOptions = {},
): CheckRunner {
  const kinds: readonly Slots[] = [
    createSlots('http', { total: inFlightMax, perOrganization }),
    createSlots('logs', LOG_READERS),
    createSlots('judge', JUDGES),
  ]
  const finished: FinishedRun[] = []
  const evidenceReaders = createTurns(FAIR_QUEUES.evidenceReaders)
  let resultSignal = Promise.withResolvers<void>()

  async function run(check: ClaimedCheck): Promise<void> {
    const measurement = await measure(deps, evidenceReaders, check).catch((error: unknown) => {
      deps.log.warn('a check broke', { check: check.id, error })
      return measured('error', 'internal_error')
    })
    finished.push({ check, measurement })
    onResult?.()
    resultSignal.resolve()
    resultSignal = Promise.withResolvers<void>()
  }

  async function claimInto(slots: Slots): Promise<number> {
    const claimed = await claimChecks(deps, {
      kind: slots.kind,
      rows: slots.total - slots.claims.size,
      perOrganization: slots.perOrganization,
      inFlight: countByOrganization(slots.claims),
      leaseSeconds,
    })
    for (const check of claimed) {
      slots.claims.add(check)
      void run(check)
    }
    return claimed.length
  }

  const withCapacity = () => kinds.filter(({ claims, total }) => claims.size < total)

  return {
    hasCapacity: () => withCapacity().length > 0,
    async claim() {
      let claimed = 0
      for (const slots of withCapacity()) claimed += await claimInto(slots)
      return claimed
    },
    async settle() {
      const done = finished.splice(0)
      if (done.length === 0) return false
      try {
        await settleRuns(deps, done)
      } catch (error) {
        // Whether it was committed is not known and need not be: a claim is settled once.
        finished.unshift(...done)
        throw error
      }
      for (const { check } of done) for (const { claims } of kinds) claims.delete(check)
      return true
    },
    hasInFlight: () => kinds.some(({ claims }) => claims.size > 0),
    nextResult: () => (finished.length > 0 ? Promise.resolve() : resultSignal.promise),
    release() {
      const held = kinds.flatMap(({ claims }) => [...claims].map(({ claim }) => claim))
      return releaseCheckClaims(deps, [...new Set(held)])
    },
  }
}

/** For one kind of check: what is claimed and not settled yet, and how much of it there may be. */
type Slots = {
  readonly kind: CheckKind
  readonly total: number
  readonly perOrganization: number
  readonly claims: Set<ClaimedCheck>
}

const createSlots = (kind: CheckKind, limits: Pick<Slots, 'total' | 'perOrganization'>): Slots => ({
  kind,
  ...limits,
  claims: new Set(),
})

function countByOrganization(claims: Iterable<ClaimedCheck>): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const { orgId } of claims) counts.set(orgId, (counts.get(orgId) ?? 0) + 1)
  return Object.fromEntries(counts)
}

/** Null: it is paused. */
async function measure(
  { db, clock, dataKeys, probeHttp, matchLines, judge }: CheckRunnerDeps,
  evidenceReaders: Turns,
  check: ClaimedCheck,
): Promise<Measurement | null> {
  if (await pauseOf({ judge, db }, check, clock())) return null
  const { orgId, definition } = check
  switch (definition.kind) {
    case 'http':
      return measureHttp(probeHttp, orgId, definition, openSecrets(dataKeys, check, check))
    case 'logs':
      return measureLogs({ db, clock, matchLines }, check, definition)
    case 'judge':
      return judge && measureJudge({ db, clock }, judge, evidenceReaders, check, definition)
  }
}
