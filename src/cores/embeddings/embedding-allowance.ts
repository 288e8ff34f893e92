/** How many tokens an organization may embed in a day: counted in one row that all processes share, in one statement. */
import { keptLocally, locally } from '../../../db/commit-locally.ts'
import type { Handle } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { embeddingCounts } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Clock } from '../dependencies.ts'

export type AllowanceDeps = {
  readonly db: Handle
  readonly clock: Clock
  readonly embeddingTokensPerDay: number
}

const DAY_MS = 24 * 60 * 60_000

/** Of UTC, as for questions. */
const dayOf = (now: Date): Date => new Date(Math.floor(now.getTime() / DAY_MS) * DAY_MS)

/** Throws QUOTA_EXCEEDED, and then counts nothing. Returns how to give back what was not used. */
export async function takeTokens(
  { db, clock, embeddingTokensPerDay: limit }: AllowanceDeps,
  orgId: string,
  tokens: number,
): Promise<(unused: number) => Promise<void>> {
  const now = clock()
  const day = dayOf(now)
  const row = embeddingCounts
  const isToday = sql`${row.day} >= excluded.day`
  const taken =
    tokens > limit
      ? []
      : await db
          .insert(row)
          .values({ orgId: keptLocally(sql`${orgId}`), day, tokens })
          .onConflictDoUpdate({
            target: row.orgId,
            set: {
              day: sql`greatest(${row.day}, excluded.day)`,
              tokens: sql`case when ${isToday} then ${row.tokens} + excluded.tokens else excluded.tokens end`,
            },
            setWhere: sql`not (${isToday}) or ${row.tokens} + excluded.tokens <= ${limit}`,
          })
          .returning({ day: row.day })
  const [counted] = taken
  if (!counted) {
    throw new ServiceError(
      'QUOTA_EXCEEDED',
      `The organization’s ${limit.toLocaleString('en')} embedding tokens of today are used up`,
      { retryAfterSeconds: Math.max(1, Math.ceil((day.getTime() + DAY_MS - now.getTime()) / 1000)) },
    )
  }
  return async (unused) => {
    if (unused <= 0) return
    await db
      .update(row)
      .set({ tokens: sql`greatest(0, ${row.tokens} - ${unused})` })
      .where(and(eq(row.orgId, orgId), eq(row.day, counted.day), locally))
  }
}
