/**
 * A call with a secret that was perhaps rotated: the statement that finds its row counts it there, for all processes. A leaky
 * bucket, as in throttle.ts.
 */
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import { locally } from '../../db/commit-locally.ts'
import { and, eq, gt, or, sql } from '../../db/drizzle.ts'
import { ServiceError } from '../contracts/errors.ts'
import type { RateLimit } from './throttle.ts'

type CountedSecret = Readonly<
  Record<
    'secretHash' | 'previousHash' | 'previousUntil' | 'lastUsedAt' | 'previousLastUsedAt' | 'fullUntil',
    AnyPgColumn
  >
>

export function countSecret(table: CountedSecret, secretHash: string, now: Date, limit: RateLimit) {
  const step = limit.seconds / limit.count
  const capacity = limit.seconds - step
  const at = sql`${now.toISOString()}::timestamptz`
  const usedBy = (hash: AnyPgColumn, last: AnyPgColumn) =>
    sql`case when ${hash} = ${secretHash} then ${at} else ${last} end`
  return {
    isSecret: or(
      eq(table.secretHash, secretHash),
      and(eq(table.previousHash, secretHash), gt(table.previousUntil, now)),
    ),
    counted: {
      lastUsedAt: usedBy(table.secretHash, table.lastUsedAt),
      previousLastUsedAt: usedBy(table.previousHash, table.previousLastUsedAt),
      fullUntil: sql`greatest(${table.fullUntil}, ${at}) + make_interval(secs => ${step})`,
    },
    /** Full: nothing changes, so that further requests do not prolong the wait. */
    hasRoom: and(locally, sql`${table.fullUntil} <= ${at} + make_interval(secs => ${capacity})`),
    tooMany: (fullUntil: Date) =>
      new ServiceError('RATE_LIMITED', undefined, {
        retryAfterSeconds: Math.max(1, Math.ceil((fullUntil.getTime() - now.getTime()) / 1000 - capacity)),
      }),
  }
}
