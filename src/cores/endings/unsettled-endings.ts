/**
 * Endings of this process of which nobody knows whether they are done: the connection was lost while they were committed, or
 * before the standby had them. They are done again until the database has answered; before that nobody is answered here who
 * might be let in by what has ended.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { serverOf } from '../../../db/commit-locally.ts'
import { confirmationOf, type Database } from '../../../db/connect.ts'
import { locallyOutsideCalls, outsideCalls } from '../../../db/current-call.ts'
import { AWAY, DatabaseAway, isLoss } from '../../../db/database-away.ts'
import type { Clock, Log } from '../dependencies.ts'
import { addEndingKeeper, type Ending } from '../record-ending.ts'
import { anotherServer, committingLocally, isLost } from '../transaction.ts'
import { endAndAudit } from './end-lost.ts'

const PAUSE = { firstMs: 100, maxMs: 10_000 }
/** One that fails by itself, and not with the database, keeps others waiting for so long. */
const HOLD_MS = 30_000

type UnsettledEndings = {
  /** Resolves when all of them are done, or says that the database is away; undefined when there are none, as nearly always. */
  untilEnded(): Promise<void> | undefined
  close(): Promise<void>
}

type Unsettled = {
  readonly ending: Ending
  /** Every process sees it, and the standby has not confirmed it. */
  isDone: boolean
  /** For a reason of its own. */
  failingSince?: number
  /** Nobody waits for it any more; it is still tried. */
  isGivenUp?: boolean
}

/** It, or what led to it: the database is away, or somebody waits for a standby. */
function isAway(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown }
    if (isLoss(at) || AWAY_CODES.has(String(code)) || at.name === 'TimeoutError') return true
  }
  return false
}

/** The last is that of a statement that took too long. */
const AWAY_CODES = new Set(['DATABASE_AWAY', 'OUTCOME_UNKNOWN', '57014'])

export function keepUnsettledEndings({
  db,
  clock,
  log,
  holdMs = HOLD_MS,
}: { readonly db: Database; readonly clock: Clock; readonly holdMs?: number } & Log): UnsettledEndings {
  const unsettled = new Map<string, Unsettled>()
  const stopping = new AbortController()
  let settling: Promise<void> | undefined
  let done = Promise.withResolvers<void>()
  /** Aborted when another one comes. */
  let more = new AbortController()
  let confirming: Promise<string> | undefined
  let isUnconfirmedKnown = false

  async function inTime(ended: Promise<void>): Promise<void> {
    const answered = new AbortController()
    const late = sleep(AWAY.waitMs, undefined, { signal: answered.signal, ref: false }).then(() => {
      throw new DatabaseAway()
    })
    await Promise.race([ended, late]).finally(() => answered.abort())
  }

  const areDone = () => [...unsettled.values()].every((one) => one.isDone || one.isGivenUp)

  async function settle(): Promise<void> {
    const known = [...unsettled]
    const confirm = confirmationOf(db)
    const server = confirm && (await serverOf(db))
    // In nobody's place who waits for a standby: while that hangs, none would be free.
    const failed = await locallyOutsideCalls(() => doAgain(known.map(([, one]) => one)))
    if (areDone()) done.resolve()
    try {
      if (confirm && (await confirmedBy(confirm)) !== server) throw anotherServer()
    } catch (error) {
      if (isLost(error)) lose(known)
      if (more.signal.aborted) throw error
      if (!isAway(error) && !isUnconfirmedKnown) log.warn('endings cannot be confirmed', { error })
      isUnconfirmedKnown ||= !isAway(error)
      throw error
    }
    for (const [key, one] of known) if (!failed.has(one) && unsettled.get(key) === one) unsettled.delete(key)
  }

  /** Another server may have taken over, and lack them. */
  function lose(known: readonly (readonly [string, Unsettled])[]): void {
    if (areDone()) done = Promise.withResolvers()
    for (const [, one] of known) one.isDone = false
    if (areDone()) done.resolve()
  }

  /** One at a time, however many endings come while a standby hangs. */
  async function confirmedBy(confirm: () => Promise<string>): Promise<string> {
    await unlessMore(confirming?.catch(() => {}))
    confirming = confirm()
    return unlessMore(confirming)
  }

  /** What comes is done first: this process answers nobody until then. */
  async function unlessMore<T>(work: T): Promise<Awaited<T>> {
    const { signal } = more
    const { promise: over, reject } = Promise.withResolvers<never>()
    const end = () => reject(signal.reason as Error)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
    return Promise.race([work, over]).finally(() => signal.removeEventListener('abort', end))
  }

  /** All at once, and where that fails, each by itself. Returns those that fail for a reason of their own. */
  async function doAgain(known: readonly Unsettled[]): Promise<ReadonlySet<Unsettled>> {
    const run = async (some: readonly Unsettled[]) => {
      const endings = some.map(({ ending }) => ending)
      const again = await committingLocally(db, (tx) => endAndAudit(tx, clock, endings))
      if (again > 0) log.warn('endings were lost with the database and are done again', { endings: again })
      for (const one of some) one.isDone = true
    }
    const failed = new Set<Unsettled>()
    const isWhole = await run(known).then(
      () => true,
      (error: unknown) => {
        if (isAway(error)) throw error
        return false
      },
    )
    for (const one of isWhole ? [] : known) {
      await run([one]).catch((error: unknown) => {
        if (isAway(error)) throw error
        failed.add(one)
        noteFailure(one, error)
      })
    }
    return failed
  }

  function noteFailure(one: Unsettled, error: unknown): void {
    const { kind, id } = one.ending
    if (one.failingSince === undefined) {
      one.failingSince = clock().getTime()
      log.warn('an ending cannot be done again yet: until then nobody is answered', { kind, id, error })
    } else if (!one.isGivenUp && clock().getTime() - one.failingSince > holdMs) {
      one.isGivenUp = true
      log.warn('an ending that cannot be done again is not waited for any more', { kind, id, error })
    }
  }

  /** Until another one comes. */
  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: more.signal, ref: false }).catch(() => {})
  }

  async function settleAll(): Promise<void> {
    let pauseMs = PAUSE.firstMs
    while (unsettled.size > 0 && !stopping.signal.aborted) {
      let isFailing = true
      more = new AbortController()
      try {
        await settle()
        isFailing = [...unsettled.values()].every((one) => one.failingSince !== undefined)
      } catch (error) {
        // It is away, and whoever asks it says so.
        isFailing = !isAway(error) && !more.signal.aborted
      }
      pauseMs = isFailing ? Math.min(2 * pauseMs, PAUSE.maxMs) : PAUSE.firstMs
      if (unsettled.size > 0) await pause(pauseMs)
    }
    settling = undefined
  }

  const leave = addEndingKeeper(db, {
    unknown(endings, isCommitted) {
      if (areDone()) done = Promise.withResolvers()
      for (const ending of endings)
        // Of one that became less again and again, each: what the first took may not be in the last.
        unsettled.set(JSON.stringify(ending), { ending, isDone: isCommitted })
      if (areDone()) done.resolve()
      if (settling) more.abort()
      else settling = outsideCalls(settleAll)
    },
  })

  return {
    untilEnded: () => (unsettled.size === 0 || areDone() ? undefined : inTime(done.promise)),
    async close() {
      leave()
      stopping.abort()
      more.abort()
      await settling
    },
  }
}
