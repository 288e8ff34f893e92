/**
 * This process among all that answer calls: it has a lease, without which it answers nobody, learns of endings of access, cuts
 * off what it has open for them, and acknowledges that. Whoever can sign makes receipts final.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { keptLocally, locally } from '../../../db/commit-locally.ts'
import type { Database } from '../../../db/connect.ts'
import { locallyOutsideCalls, outsideCalls } from '../../../db/current-call.ts'
import { sql } from '../../../db/drizzle.ts'
import { listenerOf, notify } from '../../../db/listen.ts'
import { REMOTE_ANSWER_SECONDS } from '../../contracts/limits.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import type { OpenAnswers } from '../../trust/open-answers.ts'
import type { Clock, Log } from '../dependencies.ts'
import { PROCESS_LEASE_MS, secondsFromNow } from '../process-leases.ts'
import { LAPSES_IN_MS, settleReceipts } from './settle-receipts.ts'

export type ProcessWatch = {
  /** A process without a database has called. Undefined: it is known already. */
  noteRemote(): Promise<void> | undefined
  close(): Promise<void>
}

type Deps = Log & {
  readonly db: Database
  readonly clock: Clock
  /** Left out where nothing can be signed: another process does it. */
  readonly dataKeys: DataKeys | undefined
  readonly answers: OpenAnswers
}

/** This process is over before others may think so. */
const MARGIN_MS = 1_000
const BEAT_MS = 5_000
/** While a receipt is pending, where nobody tells of acknowledgements; and before the look at a lease that has lapsed. */
const PENDING_MS = 500
/** Rows of processes that are gone. */
const SWEEP_BEATS = 100
/** How often it is told that there are processes without a database. */
const REMOTE_MS = 10_000
/** A stop does not wait for a database that hangs. */
const CLOSE_MS = 2_000

type Pending = { readonly id: string; readonly whose: readonly string[]; readonly isRehearsal: boolean } & {
  readonly isAcknowledged: boolean
  readonly lapsesInMs: number | null
}

export async function watchProcess(deps: Deps): Promise<ProcessWatch> {
  const { db, answers, log } = deps
  const listener = listenerOf(db)
  const name = randomBytes(8).toString('hex')
  const acknowledging = new Set<string>()
  const stopping = new AbortController()

  async function renewOnce(): Promise<void> {
    const sentAt = answers.now()
    await db.execute(sql`
      insert into processes (name, until, is_remote)
      values (${name}, ${keptLocally(secondsFromNow(PROCESS_LEASE_MS / 1000))}, false)
      on conflict (name) do update set until = excluded.until`)
    if (!stopping.signal.aborted) answers.extend(sentAt + PROCESS_LEASE_MS - MARGIN_MS)
  }
  /** One for all who ask meanwhile. */
  let renewing: Promise<void> | undefined
  const renew = async (): Promise<void> => {
    // It has left, or is about to: a row that came back would be waited for.
    if (stopping.signal.aborted) return
    await (renewing ??= locallyOutsideCalls(renewOnce).finally(() => (renewing = undefined)))
  }

  /** Returns for how long nothing happens that nobody tells of. */
  async function look(): Promise<number> {
    const pending = await db.execute<Pending>(sql`
      select id, whose, is_rehearsal as "isRehearsal", exists (
        select from receipt_acknowledgements a where a.receipt_id = r.id and a.process = ${name}) as "isAcknowledged",
        ${LAPSES_IN_MS} as "lapsesInMs"
      from receipts r where final_at is null order by id`)
    for (const one of pending) {
      if (one.isAcknowledged || acknowledging.has(one.id)) continue
      acknowledging.add(one.id)
      void acknowledge(one)
        .catch((error: unknown) => log.warn('an ending was not acknowledged yet', { receipt: one.id, error }))
        .finally(() => {
          acknowledging.delete(one.id)
          wake()
        })
    }
    if (pending.length > 0 && deps.dataKeys) await settle({ ...deps, dataKeys: deps.dataKeys })
    if (pending.length === 0) return BEAT_MS
    if (listener.state() !== 'listening') return PENDING_MS
    const lapses = pending.map(({ lapsesInMs }) => lapsesInMs ?? BEAT_MS)
    return Math.max(PENDING_MS, Math.min(BEAT_MS, ...lapses))
  }

  /** Told once, until it works again. */
  let isTold = false
  async function settle(by: Parameters<typeof settleReceipts>[0]): Promise<void> {
    try {
      await settleReceipts(by)
      isTold = false
    } catch (error) {
      if (!isTold) log.warn('a receipt could not be made final yet', { error })
      isTold = true
      throw error
    }
  }

  async function acknowledge({ id, whose, isRehearsal }: Pending): Promise<void> {
    const cut = isRehearsal ? answers.count(whose) : await answers.end(whose)
    // It waits for the standby, which then has the ending as well: in line, or many would take all connections.
    await outsideCalls(async () => {
      await db.execute(sql`
        insert into receipt_acknowledgements (receipt_id, process, at, cut)
        select id, ${name}, clock_timestamp(), ${JSON.stringify(cut)}::text::jsonb from receipts
        where id = ${id} and final_at is null on conflict do nothing`)
      await notify(db, 'endings')
    })
  }

  let [wake, beats] = [() => {}, 0]
  async function run(): Promise<void> {
    let renewAt = answers.now() + BEAT_MS
    let restMs = PENDING_MS
    while (!stopping.signal.aborted) {
      const told = Promise.withResolvers<void>()
      wake = told.resolve
      restMs = await locallyOutsideCalls(look).catch(() => Math.min(restMs * 2, BEAT_MS))
      const rest = new AbortController()
      const over = AbortSignal.any([stopping.signal, rest.signal])
      const pause = sleep(Math.max(0, Math.min(restMs, renewAt - answers.now())), undefined, {
        signal: over,
        ref: false,
      }).catch(() => {})
      await Promise.race([pause, told.promise])
      rest.abort()
      if (stopping.signal.aborted || answers.now() < renewAt) continue
      renewAt = answers.now() + BEAT_MS
      // The next one says it again; a database that is away is told of elsewhere.
      await renew()
        .then(() => (++beats % SWEEP_BEATS === 0 ? sweep() : undefined))
        .catch(() => {})
    }
  }

  async function sweep(): Promise<void> {
    await locallyOutsideCalls(() =>
      db.execute(
        sql`delete from processes where until < clock_timestamp() - interval '1 day' and ${locally}`,
      ),
    )
  }

  await renew()
  answers.extendBy(renew)
  const unsubscribe = listener.subscribe((topic) => {
    if (topic === undefined || topic === 'endings') wake()
  })
  const running = run()

  let notedAt = -Infinity
  async function note(): Promise<void> {
    const at = answers.now()
    const seconds = REMOTE_ANSWER_SECONDS + REMOTE_MS / 1000
    await locallyOutsideCalls(() =>
      db.execute(sql`
        insert into processes (name, until, is_remote)
        values ('remote', ${keptLocally(secondsFromNow(seconds))}, true)
        on conflict (name) do update set until = excluded.until`),
    )
    notedAt = at
  }

  return {
    noteRemote: () => (answers.now() - notedAt < REMOTE_MS ? undefined : note()),
    async close() {
      stopping.abort()
      unsubscribe()
      wake()
      const leave = async () => {
        await running
        await renewing?.catch(() => {})
        await db.execute(sql`delete from processes where name = ${name} and ${locally}`)
        await notify(db, 'endings')
      }
      const late = sleep(CLOSE_MS, undefined, { ref: false })
      await Promise.race([locallyOutsideCalls(leave).catch(() => {}), late])
    },
  }
}
