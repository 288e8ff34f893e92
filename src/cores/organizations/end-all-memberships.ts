/** Ends all memberships of an organization that is removed, and the organization itself. */
import type { Transaction } from '../../../db/connect.ts'
import { eq } from '../../../db/drizzle.ts'
import { memberships, organizations, removedOrganizations, sessions } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { recordEnding } from '../record-ending.ts'

/** What refers to it goes with its row; the rest is found by its id, once nobody can reach it any more. */
export async function endAllMemberships(
  tx: Transaction,
  clock: Clock,
  { id, name }: { readonly id: string; readonly name: string },
): Promise<void> {
  const ended = await tx
    .delete(memberships)
    .where(eq(memberships.orgId, id))
    .returning({ id: memberships.id, orgId: memberships.orgId })
  recordEnding(tx, 'membership', ended)
  await tx.update(sessions).set({ orgId: null }).where(eq(sessions.orgId, id))
  await tx.insert(removedOrganizations).values({ orgId: id, name, removedAt: clock() })
  await tx.delete(organizations).where(eq(organizations.id, id))
}

/** Locked, so that nobody joins it meanwhile. */
export async function lockOrganization(
  tx: Transaction,
  id: string,
): Promise<{ readonly id: string; readonly name: string } | undefined> {
  const [row] = await tx
    .select({ id: organizations.id, name: organizations.name })
    .from(organizations)
    .where(eq(organizations.id, id))
    .for('update')
  return row
}
