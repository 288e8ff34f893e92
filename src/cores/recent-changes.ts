/** Who has changed something a moment ago, for all processes: what they read then is not read from a standby. */
import { keptLocally } from '../../db/commit-locally.ts'
import { and, eq, gt, sql } from '../../db/drizzle.ts'
import { throttles } from '../../db/schema.ts'
import { sha256 } from '../trust/keyed-hash.ts'
import type { Storage } from './dependencies.ts'

/** Beside the rate limits, which are swept by their time as well. */
const keyOf = (owner: string): string => sha256(`changed: ${owner}`)

export async function markChange({ db, clock }: Storage, owner: string, seconds: number): Promise<void> {
  const until = new Date(clock().getTime() + seconds * 1000).toISOString()
  await db
    .insert(throttles)
    .values({ key: keyOf(owner), fullUntil: keptLocally(sql`${until}::timestamptz`) })
    .onConflictDoUpdate({ target: throttles.key, set: { fullUntil: sql`excluded.full_until` } })
}

export async function hasRecentChange({ db, clock }: Storage, owner: string): Promise<boolean> {
  const isIt = and(eq(throttles.key, keyOf(owner)), gt(throttles.fullUntil, clock()))
  return (await db.select({ key: throttles.key }).from(throttles).where(isIt)).length > 0
}
