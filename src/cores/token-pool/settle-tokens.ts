/** Books what a request really used. Each reservation is closed once, whoever comes first. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import type { SQL } from 'drizzle-orm'
import { and, eq, inArray, sql } from '../../../db/drizzle.ts'
import { tokenPools, tokenReservations } from '../../../db/schema.ts'
import type { Reservation } from './reserve-tokens.ts'

/** What a request used. Null: the provider did not say, and all that was reserved counts. */
type Used = {
  readonly tokens: number | null
  /** A provider that is down: booked apart, a tenth of the day's allowance at most. */
  readonly isOutage: boolean
}

/** False: somebody else closed it. */
export async function settleTokens(
  db: Handle,
  reservation: Reservation,
  tokens: Used['tokens'],
  isOutage = false,
): Promise<boolean> {
  const { own, pool, closed } = settlementParts(reservation, null, { tokens, isOutage }, sql`true`)
  const settled = await db.execute(sql`
    with own as (${own}), pool as (${pool}), closed as (${closed}) select actual from closed`)
  return settled.length === 1
}

/** Of the allowance of a day, for what a provider that is down may have used. */
const OUTAGE_SHARE = 10

/**
 * The same as parts of a statement that may do more, to be called `own`, `pool` and `closed`, which has the tokens that were
 * booked as `actual`. `first`: what has to be locked before.
 */
export function settlementParts(
  { orgId, id }: Reservation,
  /** Null: whatever it is for. */
  purpose: string | null,
  { tokens, isOutage }: Used,
  first: SQL,
): { own: SQL; pool: SQL; closed: SQL } {
  const said = sql`coalesce(${tokens === null ? null : String(tokens)}::bigint, r.amount)`
  const left = sql`greatest(p.allowance / ${sql.raw(String(OUTAGE_SHARE))} - p.outage, 0)`
  return {
    own: sql`
      select r.id, r.day, r.amount, ${isOutage ? sql`least(${said}, ${left})` : said} as used
      from ${tokenReservations} r join ${tokenPools} p on p.org_id = r.org_id and p.day = r.day
      where r.org_id = ${orgId} and r.id = ${id} and r.state in ('held', 'sent')
        ${purpose === null ? sql`` : sql`and r.purpose = ${purpose}`} and ${first}
      for update`,
    pool: isOutage
      ? sql`
        update ${tokenPools} p set reserved = p.reserved - own.amount, outage = p.outage + own.used
        from own where p.org_id = ${orgId} and p.day = own.day`
      : sql`
        update ${tokenPools} p set reserved = p.reserved - own.amount, spent = p.spent + least(own.used, own.amount),
          overage = p.overage + greatest(own.used - own.amount, 0)
        from own where p.org_id = ${orgId} and p.day = own.day`,
    closed: sql`
      update ${tokenReservations} r
      set state = case when own.used = 0 then 'released' else 'settled' end, actual = own.used
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
