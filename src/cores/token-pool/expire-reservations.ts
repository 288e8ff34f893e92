/** Closes the reservations of whoever died before they could. */
import { lte, sql } from '../../../db/drizzle.ts'
import { tokenReservations } from '../../../db/schema.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { closeReservations } from './settle-tokens.ts'

export async function expireReservations({ db }: Pick<Storage, 'db'>): Promise<void> {
  await withTransaction(db, (tx) =>
    closeReservations(tx, lte(tokenReservations.expiresAt, sql`clock_timestamp()`)),
  )
}
