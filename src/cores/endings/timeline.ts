/** Writes what the database knows of its own past: that it is alive, and that it has gone back. */
import { randomBytes } from 'node:crypto'
import type { Handle, Sql, Transaction } from '../../../db/connect.ts'
import { eq, sql } from '../../../db/drizzle.ts'
import { installationFacts } from '../../../db/schema.ts'
import { TIMELINE_FACT, type Timeline } from '../timeline.ts'
import { withTransaction } from '../transaction.ts'

export type Position = { readonly timeline: string; readonly at: bigint }

/** A day is as long as anything of them matters. */
const LOST_KEPT_MS = 24 * 60 * 60 * 1000
const LOST_MAX = 50

/** Null: the server does not say, as where its storage is not that of Postgres. */
export async function readPosition(asked: Pick<Sql, 'query'>): Promise<Position | null> {
  try {
    const [row] = await asked.query<{ timeline: string; at: string }>(
      `select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline,
        (pg_current_wal_lsn() - '0/0'::pg_lsn)::text as at`,
    )
    return { timeline: row!.timeline, at: BigInt(row!.at) }
  } catch (error) {
    if (UNTOLD.has((error as { code?: string }).code ?? '')) return null
    throw error
  }
}

/** Not allowed, not supported, not there. A standby, which is not in the state for it, is not looked at in place of its server. */
const UNTOLD = new Set(['42501', '0A000', '42883'])

/** Changes it under its lock. */
export const updateTimeline = (
  db: Handle,
  change: (before: Timeline, tx: Transaction) => Timeline,
  first: Timeline,
): Promise<Timeline> =>
  withTransaction(db, async (tx) => {
    await tx.insert(installationFacts).values({ name: TIMELINE_FACT, value: first }).onConflictDoNothing()
    // Also while a standby hangs: what is lost of this makes the tail seem longer, never shorter.
    await tx.execute(sql`set local synchronous_commit = local`)
    const isIt = eq(installationFacts.name, TIMELINE_FACT)
    const [row] = await tx.select().from(installationFacts).where(isIt).for('update')
    const value = change(row!.value as Timeline, tx)
    await tx.update(installationFacts).set({ value }).where(isIt)
    return value
  })

export const newTimeline = (now: Date): Timeline => ({
  lineage: newLineage(),
  timeline: null,
  changes: 0,
  beat: 0,
  aliveAt: now.getTime(),
  lost: [],
})

const newLineage = (): string => randomBytes(8).toString('hex')

/** Another timeline, or the same at an earlier position. What was written after `aliveAt` may be lost. */
export const wentBack = (
  before: Timeline,
  { timeline, changes, now }: { timeline: string | null; changes: number; now: Date },
): Timeline => ({
  ...before,
  timeline,
  // More than any process knows of, and no less than the server's own count: a lost change must not come twice.
  changes: Math.max(before.changes + 1, changes + 1, Number.parseInt(timeline ?? '0', 16)),
  beat: before.beat + 1,
  aliveAt: now.getTime(),
  lost: [
    ...before.lost.filter(({ until }) => until > now.getTime() - LOST_KEPT_MS),
    { from: before.aliveAt, until: now.getTime() },
  ].slice(-LOST_MAX),
})

/** Somebody has gone back on purpose, and says so before a process starts. */
export async function recordRestore(db: Handle, now: Date): Promise<void> {
  const restored = (before: Timeline): Timeline => ({
    ...before,
    lineage: newLineage(),
    timeline: null,
    changes: before.changes + 1,
    aliveAt: now.getTime(),
    lost: [],
  })
  await updateTimeline(db, restored, newTimeline(now))
}
