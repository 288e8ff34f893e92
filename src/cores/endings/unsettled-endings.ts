/**
 * Endings of this process of which nobody knows whether they are done: the connection was lost while they were committed, or
 * before the standby had them. They are done again until the database has answered; before that nobody is answered here who
 * might be let in by what has ended.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { confirmationOf, type Database } from '../../../db/connect.ts'
import { outsideCalls } from '../../../db/current-call.ts'
import { AWAY, DatabaseAway } from '../../../db/database-away.ts'
import type { Clock, Log } from '../dependencies.ts'
import { addEndingKeeper, type Ending } from '../record-ending.ts'
import { committingLocally } from '../transaction.ts'
import { endAndAudit } from './end-lost.ts'

const PAUSE_MS = 100

type UnsettledEndings = {
  /** Resolves when all of them are done, or says that the database is away; undefined when there are none, as nearly always. */
  untilEnded(): Promise<void> | undefined
  close(): Promise<void>
}

export function keepUnsettledEndings({
  db,
  clock,
  log,
}: { readonly db: Database; readonly clock: Clock } & Log): UnsettledEndings {
  /** By kind and id. `isDone`: every process sees it, and the standby has not confirmed it. */
  const unsettled = new Map<string, { readonly ending: Ending; isDone: boolean }>()
  const stopping = new AbortController()
  let settling: Promise<void> | undefined
  let done = Promise.withResolvers<void>()

  async function inTime(ended: Promise<void>): Promise<void> {
    const answered = new AbortController()
    const late = sleep(AWAY.waitMs, undefined, { signal: answered.signal, ref: false }).then(() => {
      throw new DatabaseAway()
    })
    await Promise.race([ended, late]).finally(() => answered.abort())
  }

  const areDone = () => [...unsettled.values()].every((one) => one.isDone)

  async function settle(): Promise<void> {
    const known = [...unsettled]
    const endings = known.map(([, { ending }]) => ending)
    const again = await committingLocally(db, (tx) => endAndAudit(tx, clock, endings))
    if (again > 0) log.warn('endings were lost with the database and are done again', { endings: again })
    for (const [, one] of known) one.isDone = true
    if (areDone()) done.resolve()
    await confirmationOf(db)?.()
    for (const [key, one] of known) if (unsettled.get(key) === one) unsettled.delete(key)
  }

  async function settleAll(): Promise<void> {
    while (unsettled.size > 0 && !stopping.signal.aborted) {
      try {
        await settle()
      } catch {
        // It is away, and whoever asks it says so.
        await sleep(PAUSE_MS, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      }
    }
    settling = undefined
  }

  const leave = addEndingKeeper(db, {
    unknown(endings, isCommitted) {
      if (areDone()) done = Promise.withResolvers()
      for (const ending of endings)
        unsettled.set(`${ending.kind} ${ending.id}`, { ending, isDone: isCommitted })
      if (areDone()) done.resolve()
      settling ??= outsideCalls(settleAll)
    },
  })

  return {
    untilEnded: () => (unsettled.size === 0 || areDone() ? undefined : inTime(done.promise)),
    async close() {
      leave()
      stopping.abort()
      await settling
    },
  }
}
