/**
 * Sets tokens aside before a request is sent: together with what is spent, also beyond what was reserved for it, they never
 * exceed the day's allowance.
 */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { tokenPools, tokenReservations } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { secondsFromNow } from '../process-leases.ts'
import { dayOf } from './read-token-pool.ts'

export type Reservation = { readonly orgId: string; readonly id: string }

type Reserve = {
  readonly orgId: string
  readonly amount: number
  /** Of the organization's settings at this moment: a lowered one counts at once. */
  readonly allowance: number | SQL
  readonly purpose: string
  readonly now: Date
  /** By the database's clock, which is the same for whoever sets it and whoever closes it. */
  readonly leaseSeconds: number
}

/** Undefined: there is not so much left today. */
export async function reserveTokens(db: Handle, reserve: Reserve): Promise<Reservation | undefined> {
  const { id, pool, reservation } = reservationParts(reserve, { state: 'held', condition: sql`true` })
  const reserved = await db.execute(sql`with pool as (${pool}) ${reservation}`)
  return reserved.length === 1 ? { orgId: reserve.orgId, id } : undefined
}

/**
 * The parts of a statement that may ask for more: `pool`, to be called so, takes the amount, and `reservation` writes it
 * down where it could be taken. `sent`: handed out to be sent at once, by somebody who does not say when.
 */
export function reservationParts(
  { orgId, amount, allowance, purpose, now, leaseSeconds }: Reserve,
  { state, condition }: { state: 'held' | 'sent'; condition: SQL },
): { id: string; pool: SQL; reservation: SQL } {
  const [day, id] = [dayOf(now), makeId('tkr', now.getTime())]
  const wanted = sql`${String(amount)}::bigint`
  const allowed = typeof allowance === 'number' ? sql`${String(allowance)}::bigint` : allowance
  const used = sql`${tokenPools.spent} + ${tokenPools.reserved}`
  return {
    id,
    // Never below what is used already: the CHECK of the table would refuse every settlement.
    pool: sql`
      insert into ${tokenPools} (org_id, day, allowance, reserved)
      select ${orgId}, ${day}::date, ${allowed}, ${wanted} where ${condition} and ${wanted} <= ${allowed}
      on conflict (org_id, day) do update
        set allowance = excluded.allowance, reserved = ${tokenPools.reserved} + ${wanted}
        where ${used} + ${tokenPools.overage} + ${tokenPools.outage} + ${wanted} <= excluded.allowance
      returning day`,
    reservation: sql`
      insert into ${tokenReservations} (org_id, id, day, purpose, amount, state, expires_at)
      select ${orgId}, ${id}, day, ${purpose}, ${wanted}, ${state}, ${secondsFromNow(leaseSeconds)}
      from pool
      returning id`,
  }
}
