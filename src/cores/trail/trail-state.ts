/** How far the trail is sealed: one row for the installation. Whoever seals holds its lock, so two never seal the same rows. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { eq, sql } from '../../../db/drizzle.ts'
import { installationFacts } from '../../../db/schema.ts'
import { readTimeline } from '../timeline.ts'

const TRAIL_FACT = 'trail'

export type TrailState = {
  /** Rows with older ids are from before there was a trail. */
  readonly began: number
  /** By `trail_order`. */
  readonly sealedTo: number
  /** Left out: nothing was sealed yet. */
  readonly epoch?: string
  /** By `place`: up to where seals were written to the folder of the operator, and up to where their activity is deleted. */
  readonly writtenTo?: number
  readonly removedTo?: number
  /** By `place`: up to where seals whose rows are all deleted have lost their hashes. */
  readonly emptiedTo?: number
  /** By `place`: the last seal that has rows of much earlier. */
  readonly lateTo?: number
}

/** Rows are sealed within moments of their time. A seal that has one from so much before, because no worker ran, is late. */
export const LATE_MS = 2 * 24 * 60 * 60 * 1000

const FIRST: TrailState = { began: 0, sealedTo: 0 }
const isIt = eq(installationFacts.name, TRAIL_FACT)

export async function readTrailState(db: Handle): Promise<TrailState> {
  const [row] = await db.select({ value: installationFacts.value }).from(installationFacts).where(isIt)
  return (row?.value as TrailState | undefined) ?? FIRST
}

export async function lockTrailState(tx: Transaction): Promise<TrailState> {
  await tx.insert(installationFacts).values({ name: TRAIL_FACT, value: FIRST }).onConflictDoNothing()
  const [row] = await tx.select().from(installationFacts).where(isIt).for('update')
  return row!.value as TrailState
}

export async function saveTrailState(tx: Transaction, value: TrailState): Promise<void> {
  await tx.update(installationFacts).set({ value }).where(isIt)
}

/** Of the seals of all organizations. */
export async function lastPlace(db: Handle): Promise<number> {
  const [row] = await db.execute<{ place: number | null }>(
    sql`select max(place)::float8 as place from trail_seals`,
  )
  return row!.place ?? 0
}

/** Of the database. Greater numbers are later; the rest tells apart those that a restore has made twice. */
export async function readEpoch(db: Handle): Promise<string> {
  const timeline = await readTimeline(db)
  return timeline ? `${timeline.changes}-${timeline.lineage}` : '0-0'
}
