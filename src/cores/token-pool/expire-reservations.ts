/** Closes the reservations of whoever died before they could. */
import { lte, sql } from '../../../db/drizzle.ts'
import { tokenReservations } from '../../../db/schema.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { closeReservations } from './settle-tokens.ts'

/** Closed ones are of no use once their day is over. */
const KEEP_DAYS = 7

export async function expireReservations({ db, clock }: Storage): Promise<void> {
  const now = clock()
  await withTransaction(db, async (tx) => {
    await closeReservations(tx, lte(tokenReservations.expiresAt, now))
    await tx.execute(sql`
      delete from token_reservations
      where state in ('settled', 'released') and expires_at < ${now.toISOString()}::timestamptz - ${KEEP_DAYS} * interval '1 day'`)
  })
}
