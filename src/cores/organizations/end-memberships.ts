/** Ends memberships by their ids, with all that they gave; those that are gone already are left alone. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, inArray } from '../../../db/drizzle.ts'
import { memberships } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { endAccess } from './end-access.ts'

export async function endMemberships(
  tx: Transaction,
  clock: Clock,
  { orgId, ids }: { readonly orgId: string; readonly ids: readonly string[] },
): Promise<void> {
  const living = await tx
    .select({ orgId: memberships.orgId, userId: memberships.userId })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), inArray(memberships.id, [...ids])))
  for (const member of living) await endAccess(tx, clock, member, null)
}
