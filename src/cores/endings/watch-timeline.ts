/**
 * Notices that the database has gone back: another server of its cluster has taken over without the last of what was written,
 * or a copy of its files was put in its place. Before anything is asked of a new session the server is looked at, and at
 * times in between; while something is to be ended again, nothing of this process is sent.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection, Handle, Server } from '../../../db/connect.ts'
import { keptLocally, locally } from '../../../db/commit-locally.ts'
import { locallyOutsideCalls, outsideCalls } from '../../../db/current-call.ts'
import { like, sql } from '../../../db/drizzle.ts'
import { installationFacts } from '../../../db/schema.ts'
import type { EndingsPromise } from '../../contracts/endings.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Clock, Log } from '../dependencies.ts'
import { addEndingKeeper, type Ending, type TakeBack } from '../record-ending.ts'
import { waitForLostLeases } from '../process-leases.ts'
import { RIGHT_FACT } from '../right-versions.ts'
import { endLost } from './end-lost.ts'
import { readTimeline, type Timeline } from '../timeline.ts'
import type { EndingsJournal } from './journal.ts'
import { newTimeline, readPosition, updateTimeline, wentBack, type Position } from './timeline.ts'

export type TimelineWatch = {
  /** What is promised of endings now, by what all processes have. */
  promise(): Promise<EndingsPromise>
  close(): Promise<void>
}

type Deps = {
  readonly connection: Pick<Connection, 'db'> & { readonly server: Server }
  readonly clock: Clock
  readonly journal: EndingsJournal | undefined
  readonly beatMs?: number
} & Log

type Seen = {
  readonly position: Position | null
  readonly lineage: string
  readonly changes: number
  readonly beat: number
}
type Aside = Parameters<Parameters<Server['aside']>[0]>[0]

/** Behind a pooler in transaction mode nothing else tells of another server. */
const BEAT_MS = { direct: 5_000, pooled: 1_000 }
/** Every so many looks the folder is swept. */
const SWEEP_BEATS = 500
/** After a look that could not end again what was lost. */
const AGAIN_MS = 500
/** A stop does not wait for a database that hangs. */
const CLOSE_MS = 2_000
/** A disk that is full. */
const RETRY_SECONDS = 30

/** What was ended and lost is ended again when it resolves. */
export async function watchTimeline(deps: Deps): Promise<TimelineWatch> {
  const { connection, clock, journal, log } = deps
  const { db, server } = connection
  const name = randomBytes(8).toString('hex')
  let seen: Seen | undefined

  /** Through a connection of its own, because all others may be waiting for this. */
  let [running, queued]: (Promise<void> | undefined)[] = []
  /** One at a time. One that has begun may have asked the server of before. */
  const look = (): Promise<void> =>
    (queued ??= (running ?? Promise.resolve())
      .catch(() => {})
      .then(() => {
        queued = undefined
        // It is everybody's, whoever's query opened the session.
        running = outsideCalls(() => server.aside(compare))
        return running
      }))

  /** Set while something is to be ended again, also between two attempts at it. */
  let caughtUp: PromiseWithResolvers<void> | undefined

  async function compare(aside: Aside): Promise<void> {
    // A beat may go on meanwhile: what is read now is compared with what was known before.
    const known = seen
    const position = await readPosition(aside.sql)
    const before = await readTimeline(aside.db)
    const isBack = hasGoneBack(known, position, before)
    const isToldBack =
      known !== undefined && (before?.changes !== known.changes || before.lineage !== known.lineage)
    if (seen && !isBack && !isToldBack) {
      seen = { ...seen, position: position ?? seen.position }
      caughtUp?.resolve()
      caughtUp = undefined
      return
    }
    if (!caughtUp) {
      // New sessions wait for this anyway; this is for those that are open.
      caughtUp = Promise.withResolvers()
      server.hold(caughtUp.promise)
    }
    try {
      await catchUp(aside, position, before, isBack)
    } catch (error) {
      log.warn('what was lost could not be ended again yet', { error })
      setTimeout(() => void look().catch(() => {}), AGAIN_MS).unref()
      throw error
    }
    caughtUp.resolve()
    caughtUp = undefined
  }

  async function catchUp(
    aside: Aside,
    position: Position | null,
    before: Timeline | undefined,
    isBack: boolean,
  ): Promise<void> {
    const now = clock()
    const timeline = position?.timeline ?? null
    const first = { ...newTimeline(now), ...(seen && { lineage: seen.lineage }) }
    const after = await updateTimeline(
      aside.db,
      (known) => {
        // Another process may have recorded it meanwhile.
        const isRecorded =
          known.changes !== (before?.changes ?? 0) || (isBack && isRecordedFor(known, seen, timeline))
        if (isBack && !isRecorded) return wentBack(known, { timeline, changes: seen?.changes ?? 0, now })
        return { ...known, timeline, beat: known.beat + 1 }
      },
      first,
    )
    if (isBack) await waitForLostLeases(aside.db)
    const count = journal ? await endLost({ db: aside.db, clock }, await journal.read(after.lineage)) : 0
    if (isBack)
      log.warn('the database has gone back: the last of what was written may be lost', {
        timeline,
        ...(journal ? { endedAgain: count } : { remedy: 'ENDINGS_JOURNAL, or a synchronous standby' }),
      })
    else if (count > 0) log.warn('what the database lacked was ended again', { count })
    seen = { position, lineage: after.lineage, changes: after.changes, beat: after.beat }
  }

  /** Says that this process is there and with which journal, and that everything until now is in the database. */
  async function beat(): Promise<void> {
    if (server.isPooled) await look()
    const now = clock()
    const after = await updateTimeline(
      db,
      (known) => ({ ...known, beat: known.beat + 1, aliveAt: now.getTime() }),
      newTimeline(now),
    )
    if (seen && (after.changes !== seen.changes || after.beat <= seen.beat)) await look()
    else if (seen) seen = { ...seen, beat: after.beat }
    const value = { journal: journal?.id ?? null, at: now.getTime() }
    await db.execute(sql`
      insert into installation_facts (name, value)
      values (${`${PROCESS_FACT}${name}`}, ${keptLocally(sql`${JSON.stringify(value)}::text::jsonb`)})
      on conflict (name) do update set value = excluded.value`)
  }

  await look()
  server.watch(look)
  if (journal) addEndingKeeper(db, { committing: (endings) => keep(journal, endings) })
  await beat()

  let beats = 0
  let beating: Promise<void> | undefined
  const timer = setInterval(
    () => {
      // A standby that hangs must not make it seem that this process is gone.
      beating ??= locallyOutsideCalls(beat)
        .then(() => (++beats % SWEEP_BEATS === 0 ? sweep() : undefined))
        // The next one says it again, and a database that is away is told of elsewhere.
        .catch(() => {})
        .finally(() => (beating = undefined))
    },
    deps.beatMs ?? (server.isPooled ? BEAT_MS.pooled : BEAT_MS.direct),
  )
  timer.unref()

  /** Whoever asked is told that it was not done. */
  async function keep(kept: EndingsJournal, endings: readonly Ending[]): Promise<TakeBack> {
    try {
      return await kept.keep(seen!.lineage, endings)
    } catch (cause) {
      throw new ServiceError('UNAVAILABLE', undefined, { retryAfterSeconds: RETRY_SECONDS, cause })
    }
  }

  async function sweep(): Promise<void> {
    await journal?.sweep()
    const before = clock().getTime() - PROCESS_KEPT_MS
    await db.execute(sql`delete from installation_facts
      where name like ${`${PROCESS_FACT}%`} and (value ->> 'at')::float8 < ${before}::float8`)
    // No journal has an entry of one that was changed so long ago.
    await db.execute(sql`delete from installation_facts where name like ${`${RIGHT_FACT}%`} and ${locally}
      and to_timestamp((value ->> 'at')::float8 / 1000) < now() - interval '2 days'`)
  }

  return {
    promise: () => promiseOf(db, clock),
    async close() {
      clearInterval(timer)
      server.watch(async () => {})
      const leave = async () => {
        await beating
        await db.execute(
          sql`delete from installation_facts where name = ${`${PROCESS_FACT}${name}`} and ${locally}`,
        )
      }
      const late = sleep(CLOSE_MS, undefined, { ref: false })
      await Promise.race([leave().catch(() => {}), late])
    },
  }
}

function hasGoneBack(
  seen: Seen | undefined,
  position: Position | null,
  known: Timeline | undefined,
): boolean {
  // A process that has just started knows what the database says of itself.
  if (!seen) return known?.timeline != null && position !== null && position.timeline !== known.timeline
  // Also where the position says nothing: since it was last read the server may have gone on, and back to behind it.
  if ((known?.beat ?? 0) < seen.beat) return true
  if (!position || !seen.position) return false
  return position.timeline !== seen.position.timeline || position.at < seen.position.at
}

const isRecordedFor = (known: Timeline, seen: Seen | undefined, timeline: string | null): boolean =>
  seen !== undefined && known.changes > seen.changes && known.timeline === timeline

const PROCESS_FACT = 'endings_process:'
/** One that was heard of so recently is there. */
const PROCESS_LIVE_MS = 30_000
const PROCESS_KEPT_MS = 60 * 60 * 1000

async function promiseOf(db: Handle, clock: Clock): Promise<EndingsPromise> {
  const [setting] = await db.execute<{ isSynchronous: boolean }>(
    sql`select current_setting('synchronous_standby_names') <> ''
      and current_setting('synchronous_commit') not in ('off', 'local') as "isSynchronous"`,
  )
  if (setting?.isSynchronous) return 'synchronous standby'
  const rows = await db
    .select({ value: installationFacts.value })
    .from(installationFacts)
    .where(like(installationFacts.name, `${PROCESS_FACT}%`))
  const since = clock().getTime() - PROCESS_LIVE_MS
  const journals = rows
    .map(({ value }) => value as { journal: string | null; at: number })
    .filter(({ at }) => at >= since)
    .map(({ journal }) => journal)
  if (journals.length === 0 || journals.includes(null)) return 'nothing'
  return new Set(journals).size === 1 ? 'shared journal' : 'own journals'
}
