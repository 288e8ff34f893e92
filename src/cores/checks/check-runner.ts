/**
 * Runs checks that are due. At most so many at a time in a process, and of one organization a share of them; a slot is free
 * again when the result is written, so that what is claimed is also settled.
 */
import type { DataKeys } from '../../trust/data-key.ts'
import type { Log, Storage } from '../dependencies.ts'
import { pauseOf } from './check-rows.ts'
import { claimChecks, releaseCheckClaims, type ClaimedCheck } from './claim-checks.ts'
import type { HttpProbe } from './http-probe-port.ts'
import type { WithJudge } from './judge-port.ts'
import { measureHttp } from './measure-http.ts'
import { measureJudge } from './measure-judge.ts'
import { measureLogs } from './measure-logs.ts'
import { measured, type Measurement } from './measurement.ts'
import { settleRuns, type FinishedRun } from './settle-runs.ts'
import { openHeaders } from './stored-definition.ts'
import { createTurns, type Turns } from './turns.ts'

export type CheckRunnerDeps = Storage &
  Log &
  WithJudge & { readonly dataKeys: DataKeys; readonly probeHttp: HttpProbe }

export type CheckRunnerOptions = {
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

export function createCheckRunner(
  deps: CheckRunnerDeps,
  {
    inFlightMax = IN_FLIGHT_MAX,
    perOrganization = PER_ORGANIZATION,
    leaseSeconds = LEASE_SECONDS,
  }: CheckRunnerOptions = {},
): CheckRunner {
  const inFlight = new Map<string, number>()
  const claims = new Set<ClaimedCheck>()
  const finished: FinishedRun[] = []
  const logReaders = createTurns(LOG_READERS)
  let resultSignal = Promise.withResolvers<void>()

  async function run(check: ClaimedCheck): Promise<void> {
    const measurement = await measure(deps, logReaders, check).catch((error: unknown) => {
      deps.log.warn('a check broke', { check: check.id, error })
      return measured('error', 'internal_error')
    })
    finished.push({ check, measurement })
    resultSignal.resolve()
    resultSignal = Promise.withResolvers<void>()
  }

  function leave(check: ClaimedCheck): void {
    claims.delete(check)
    const left = inFlight.get(check.orgId)! - 1
    if (left === 0) inFlight.delete(check.orgId)
    else inFlight.set(check.orgId, left)
  }

  return {
    hasCapacity: () => claims.size < inFlightMax,
    async claim() {
      const claimed = await claimChecks(deps, {
        rows: inFlightMax - claims.size,
        perOrganization,
        inFlight: Object.fromEntries(inFlight),
        leaseSeconds,
      })
      for (const check of claimed) {
        claims.add(check)
        inFlight.set(check.orgId, (inFlight.get(check.orgId) ?? 0) + 1)
        void run(check)
      }
      return claimed.length
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
      for (const { check } of done) leave(check)
      return true
    },
    hasInFlight: () => claims.size > 0,
    nextResult: () => (finished.length > 0 ? Promise.resolve() : resultSignal.promise),
    release: () => releaseCheckClaims(deps, [...new Set([...claims].map(({ claim }) => claim))]),
  }
}

/** Null: it is paused. */
async function measure(
  { db, clock, dataKeys, probeHttp, judge }: CheckRunnerDeps,
  logReaders: Turns,
  check: ClaimedCheck,
): Promise<Measurement | null> {
  if (await pauseOf(judge, check, clock())) return null
  const { orgId, definition } = check
  switch (definition.kind) {
    case 'http':
      return measureHttp(probeHttp, orgId, definition, openHeaders(dataKeys, check, check))
    case 'logs':
      return logReaders.take(orgId, () => measureLogs({ db, clock }, check, definition))
    case 'judge':
      return judge && measureJudge({ db, clock }, judge, logReaders, check, definition)
  }
}
