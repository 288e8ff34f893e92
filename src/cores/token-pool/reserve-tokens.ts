/**
 * Sets tokens aside before a request is sent: together with what is spent, also beyond what was reserved for it, they never
 * exceed the day's allowance.
 */
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { tokenPools, tokenReservations } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { withTransaction } from '../transaction.ts'
import { dayOf } from './read-token-pool.ts'

export type Reservation = { readonly orgId: string; readonly id: string }

/** Undefined: there is not so much left today. */
export function reserveTokens(
  db: Handle,
  reserve: {
    orgId: string
    amount: number
    /** Of the organization's settings at this moment: a lowered one counts at once. */
    allowance: number
    purpose: string
    now: Date
    /** By the database's clock, which is the same for whoever sets it and whoever closes it. */
    leaseSeconds: number
  },
): Promise<Reservation | undefined> {
  const { orgId, amount, allowance, purpose, now, leaseSeconds } = reserve
  const day = dayOf(now)
  return withTransaction(db, async (tx) => {
    // Never below what is used already: the CHECK of the table would refuse every settlement.
    await tx
      .insert(tokenPools)
      .values({ orgId, day, allowance })
      .onConflictDoUpdate({
        target: [tokenPools.orgId, tokenPools.day],
        set: { allowance: sql`greatest(${allowance}, ${tokenPools.spent} + ${tokenPools.reserved})` },
      })
    const [taken] = await tx
      .update(tokenPools)
      .set({ reserved: sql`${tokenPools.reserved} + ${amount}` })
      .where(
        sql`${tokenPools.orgId} = ${orgId} and ${tokenPools.day} = ${day}
          and ${tokenPools.spent} + ${tokenPools.reserved} + ${tokenPools.overage} + ${amount} <= ${tokenPools.allowance}`,
      )
      .returning({ orgId: tokenPools.orgId })
    if (!taken) return undefined
    const id = makeId('tkr', now.getTime())
    const expiresAt = sql`clock_timestamp() + make_interval(secs => ${String(leaseSeconds)}::double precision)`
    await tx.insert(tokenReservations).values({ orgId, id, day, purpose, amount, state: 'held', expiresAt })
    return { orgId, id }
  })
}
