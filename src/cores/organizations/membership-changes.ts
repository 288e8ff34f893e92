/** What changing a role and removing a member have in common: locks, rows and refusals. */
import { and, eq } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { memberships, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import type { MemberPrincipal } from '../principal.ts'
import { MEMBER_COLUMNS } from './present-member.ts'

export const membership = (orgId: string, userId: string) =>
  and(eq(memberships.orgId, orgId), eq(memberships.userId, userId))

/**
 * Two owners who lower each other at the same moment must not both succeed: whoever comes second waits here
 * and then reads the roles as they are.
 */
export async function lockOwners(tx: Transaction, orgId: string): Promise<void> {
  await tx
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.role, 'owner')))
    .orderBy(memberships.userId)
    .for('update')
}

/** `share` for whoever only reads: its own author's lock may be on the same row. */
export async function findMember(
  tx: Transaction,
  orgId: string,
  userId: string,
  strength: 'share' | 'update' = 'update',
) {
  const [member] = await tx
    .select(MEMBER_COLUMNS)
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(membership(orgId, userId))
    // Somebody may be accepting an invitation to another role at this moment.
    .for(strength, { of: memberships })
  if (!member) throw notFound()
  return member
}

export function refuseHigherRole(principal: MemberPrincipal, role: Role): void {
  if (!atLeast(principal.role, role)) throw new ServiceError('FORBIDDEN', 'This member’s role is above yours')
}

export async function requireAnotherOwner(tx: Transaction, orgId: string, userId: string): Promise<void> {
  const owners = await tx
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.role, 'owner')))
  if (owners.some((owner) => owner.userId !== userId)) return
  throw new ServiceError('CONFLICT', 'An organization must have at least one owner', {
    hint: 'Make another member owner first.',
  })
}
