/** The member who is to answer for a machine agent, locked so that they are not removed meanwhile. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { memberships } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'

export async function lockOwner(
  tx: Transaction,
  orgId: string,
  userId: string,
): Promise<{ ownerId: string; ownerMembershipId: string }> {
  const [owner] = await tx
    .select({ ownerId: memberships.userId, ownerMembershipId: memberships.id })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
    .for('share')
  if (!owner)
    throw new ServiceError('NOT_FOUND', 'There is no such member', {
      hint: 'The owner of a machine agent is a member of the organization.',
    })
  return owner
}
