/** What an organization may still use today. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { tokenPools } from '../../../db/schema.ts'

export type TokenPool = {
  readonly allowance: number
  readonly reserved: number
  readonly spent: number
  readonly overage: number
  readonly outage: number
}

/** Days are those of UTC, whatever the organization's time zone: nobody gets a second allowance by moving. */
export const dayOf = (now: Date): string => now.toISOString().slice(0, 10)

export async function readTokenPool(
  db: Handle,
  { orgId, now, allowance }: { orgId: string; now: Date; allowance: number },
): Promise<TokenPool> {
  const [pool] = await db
    .select()
    .from(tokenPools)
    .where(and(eq(tokenPools.orgId, orgId), eq(tokenPools.day, dayOf(now))))
  return pool
    ? { allowance, reserved: pool.reserved, spent: pool.spent, overage: pool.overage, outage: pool.outage }
    : { allowance, reserved: 0, spent: 0, overage: 0, outage: 0 }
}
