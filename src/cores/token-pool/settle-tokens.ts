/** Books what a request really used. Each reservation is closed once, whoever comes first. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import type { SQL } from 'drizzle-orm'
import { and, eq, inArray, sql } from '../../../db/drizzle.ts'
import { tokenPools, tokenReservations } from '../../../db/schema.ts'
import { withTransaction } from '../transaction.ts'
import type { Reservation } from './reserve-tokens.ts'

/** Null: the provider did not say, and all that was reserved counts. False: somebody else closed it. */
export const settleTokens = (
  db: Handle,
  { orgId, id }: Reservation,
  actual: number | null,
): Promise<boolean> =>
  withTransaction(db, async (tx) => {
    const own = and(eq(tokenReservations.orgId, orgId), eq(tokenReservations.id, id))
    return (await close(tx, own, ({ amount }) => actual ?? amount)) === 1
  })

/**
 * The same as parts of a statement that may do more, to be called `own`, `pool` and `closed`, which has the tokens that were
 * booked as `actual`. `first`: what has to be locked before.
 */
export function settlementParts(
  { orgId, id }: Reservation,
  purpose: string,
  actual: number | null,
  first: SQL,
): { own: SQL; pool: SQL; closed: SQL } {
  const used = sql`coalesce(${actual === null ? null : String(actual)}::bigint, own.amount)`
  return {
    own: sql`
      select id, day, amount from ${tokenReservations}
      where org_id = ${orgId} and id = ${id} and purpose = ${purpose} and state in ('held', 'sent') and ${first}
      for update`,
    pool: sql`
      update ${tokenPools} p set reserved = p.reserved - own.amount, spent = p.spent + least(${used}, own.amount),
        overage = p.overage + greatest(${used} - own.amount, 0)
      from own where p.org_id = ${orgId} and p.day = own.day`,
    closed: sql`
      update ${tokenReservations} r
      set state = case when ${used} = 0 then 'released' else 'settled' end, actual = ${used}
      from own where r.org_id = ${orgId} and r.id = own.id
      returning r.actual`,
  }
}

/** What was never sent is free again; what was sent counts in full. */
export const closeReservations = (tx: Transaction, which: SQL | undefined): Promise<number> =>
  close(tx, which, ({ state, amount }) => (state === 'sent' ? amount : 0))

type Open = Pick<typeof tokenReservations.$inferSelect, 'amount' | 'state'>

async function close(
  tx: Transaction,
  which: SQL | undefined,
  actualOf: (reservation: Open) => number,
): Promise<number> {
  const open = await tx
    .select()
    .from(tokenReservations)
    .where(and(which, inArray(tokenReservations.state, ['held', 'sent'])))
    // One order for everybody: two that close the same ones wait, and do not block each other.
    .orderBy(tokenReservations.orgId, tokenReservations.id)
    .for('update')
  for (const { orgId, id, day, amount, state } of open) {
    const actual = actualOf({ amount, state })
    const spent = Math.min(actual, amount)
    await tx
      .update(tokenPools)
      .set({
        reserved: sql`${tokenPools.reserved} - ${amount}`,
        spent: sql`${tokenPools.spent} + ${spent}`,
        overage: sql`${tokenPools.overage} + ${actual - spent}`,
      })
      .where(and(eq(tokenPools.orgId, orgId), eq(tokenPools.day, day)))
    await tx
      .update(tokenReservations)
      .set({ state: actual === 0 ? 'released' : 'settled', actual })
      .where(and(eq(tokenReservations.orgId, orgId), eq(tokenReservations.id, id)))
  }
  return open.length
}
