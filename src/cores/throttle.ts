/** Counts tries in rows, so that every process counts together: a leaky bucket in one statement. */
import { eq, sql } from '../../db/drizzle.ts'
import { throttles } from '../../db/schema.ts'
import { ServiceError } from '../contracts/errors.ts'
import { sha256 } from '../trust/keyed-hash.ts'
import type { Storage } from './needs.ts'

export type Allowance = { readonly count: number; readonly seconds: number }

/**
 * Takes one try from `what` (addresses are kept as digests only) or refuses with how long to wait.
 * The bucket holds `count` tries and wins one back every `seconds / count`: nobody is locked out for good.
 */
export async function takeTry({ db, clock }: Storage, what: string, allowance: Allowance): Promise<void> {
  const now = clock()
  const step = allowance.seconds / allowance.count
  const [row] = await db
    .insert(throttles)
    .values({ key: sha256(what), fullUntil: new Date(now.getTime() + step * 1000) })
    .onConflictDoUpdate({
      target: throttles.key,
      set: {
        fullUntil: sql`greatest(${throttles.fullUntil}, ${now.toISOString()}::timestamptz) + make_interval(secs => ${step})`,
      },
      // Full: change nothing, so that hammering does not push the end further away.
      setWhere: sql`${throttles.fullUntil} <= ${now.toISOString()}::timestamptz + make_interval(secs => ${allowance.seconds - step})`,
    })
    .returning({ key: throttles.key })
  if (row) return
  const [full] = await db
    .select()
    .from(throttles)
    .where(eq(throttles.key, sha256(what)))
  const waitMs =
    (full?.fullUntil.getTime() ?? now.getTime()) - now.getTime() - (allowance.seconds - step) * 1000
  throw new ServiceError('RATE_LIMITED', undefined, {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  })
}

/** A success shows that the earlier failures were the person's own. */
export async function forgetTries({ db }: Storage, what: string): Promise<void> {
  await db.delete(throttles).where(eq(throttles.key, sha256(what)))
}

/** It was no guess: this one try is won back and no other, so that nobody wipes a count by signing in as themselves. */
export async function giveBackTry({ db }: Storage, what: string, allowance: Allowance): Promise<void> {
  const step = allowance.seconds / allowance.count
  await db
    .update(throttles)
    .set({ fullUntil: sql`${throttles.fullUntil} - make_interval(secs => ${step})` })
    .where(eq(throttles.key, sha256(what)))
}
