/** Rate limits as rows, so that all processes count together: a leaky bucket in one statement. */
import { keptLocally, locally } from '../../db/commit-locally.ts'
import { and, eq, is, lt, PgTransaction, sql } from '../../db/drizzle.ts'
import { throttles } from '../../db/schema.ts'
import { ServiceError } from '../contracts/errors.ts'
import { sha256 } from '../trust/keyed-hash.ts'
import type { Storage } from './dependencies.ts'

export type RateLimit = { readonly count: number; readonly seconds: number }

/**
 * Counts one use of `key` (stored as a digest only), or throws with how long to wait. The bucket holds `count` uses and
 * regains one every `seconds / count`: nobody is locked out for good.
 */
export async function throttle({ db, clock }: Storage, key: string, limit: RateLimit): Promise<void> {
  const now = clock()
  const step = limit.seconds / limit.count
  const until = sql`${new Date(now.getTime() + step * 1000).toISOString()}::timestamptz`
  const [row] = await db
    .insert(throttles)
    .values({ key: sha256(key), fullUntil: isAlone(db) ? keptLocally(until) : until })
    .onConflictDoUpdate({
      target: throttles.key,
      set: {
        fullUntil: sql`greatest(${throttles.fullUntil}, ${now.toISOString()}::timestamptz) + make_interval(secs => ${step})`,
      },
      // Full: nothing changes, so that further requests do not prolong the wait.
      setWhere: sql`${throttles.fullUntil} <= ${now.toISOString()}::timestamptz + make_interval(secs => ${limit.seconds - step})`,
    })
    .returning({ key: throttles.key })
  if (row) return
  const [bucket] = await db
    .select()
    .from(throttles)
    .where(eq(throttles.key, sha256(key)))
  const waitMs =
    (bucket?.fullUntil.getTime() ?? now.getTime()) - now.getTime() - (limit.seconds - step) * 1000
  throw new ServiceError('RATE_LIMITED', undefined, {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  })
}

/** After a success, which shows that the earlier failures were the person's own. */
export async function resetThrottle({ db }: Storage, key: string): Promise<void> {
  await db.delete(throttles).where(and(eq(throttles.key, sha256(key)), isAlone(db) ? locally : undefined))
}

/** Gives one use back and no other, so that nobody clears the count of an address by signing in as themselves. */
export async function refundThrottle({ db }: Storage, key: string, limit: RateLimit): Promise<void> {
  const step = limit.seconds / limit.count
  await db
    .update(throttles)
    .set({ fullUntil: sql`${throttles.fullUntil} - make_interval(secs => ${step})` })
    .where(and(eq(throttles.key, sha256(key)), isAlone(db) ? locally : undefined))
}

/** In a transaction it would make all of that local. */
const isAlone = (db: Storage['db']): boolean => !is(db, PgTransaction)

export async function sweepThrottles({ db, clock }: Storage): Promise<void> {
  await db.delete(throttles).where(lt(throttles.fullUntil, clock()))
}
