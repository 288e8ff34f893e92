/** Changes the role of a member, or ends the membership. Both act on the very next call of every token and session. */
import { and, eq, isNull } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { apiTokens, formerMembers, invitations, memberships, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { changeRole, removeMember } from '../../contracts/members.ts'
import type { Handler } from '../../contracts/operation.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import { leaveApps } from '../apps/index.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember, requireRole, type MemberCaller } from '../caller.ts'
import type { Clock, Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { MEMBER_COLUMNS, presentMember } from './present-member.ts'

export const giveRole =
  ({ db, clock }: Storage): Handler<typeof changeRole> =>
  (who, { user_id, role }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      await lockOwners(tx, caller.orgId)
      const member = await findMember(tx, caller.orgId, user_id)
      refuseAbove(caller, member.role)
      if (!atLeast(caller.role, role))
        throw new ServiceError('FORBIDDEN', 'Nobody grants a role above their own')
      if (member.role === 'owner' && role !== 'owner') await requireAnotherOwner(tx, caller.orgId, user_id)
      if (member.role === role) return presentMember(member)
      await tx.update(memberships).set({ role }).where(membership(caller.orgId, user_id))
      if (!atLeast(role, member.role)) await takeBackInvitationsOf(tx, clock, caller.orgId, user_id)
      const subject = `${member.email}: ${member.role} → ${role}`
      await recordAudit(tx, clock, caller, { orgId: caller.orgId, action: 'member.role_changed', subject })
      return presentMember({ ...member, role })
    })

export const endMembership =
  ({ db, clock }: Storage): Handler<typeof removeMember> =>
  (who, { user_id }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId } = caller
      const leaving = user_id === caller.userId
      await lockOwners(tx, orgId)
      const member = await findMember(tx, orgId, user_id)
      if (!leaving) {
        requireRole(caller, 'admin', 'Only an owner or admin may remove others')
        refuseAbove(caller, member.role)
      }
      if (member.role === 'owner') await requireAnotherOwner(tx, orgId, user_id)
      await tx.delete(memberships).where(membership(orgId, user_id))
      // Coming back later must not wake the old tokens, nor the old parts in apps.
      await tx
        .update(apiTokens)
        .set({ revokedAt: clock() })
        .where(and(eq(apiTokens.orgId, orgId), eq(apiTokens.userId, user_id), isNull(apiTokens.revokedAt)))
      await takeBackInvitationsOf(tx, clock, orgId, user_id)
      await leaveApps(tx, orgId, user_id)
      await tx.insert(formerMembers).values({ orgId, userId: user_id, since: clock() }).onConflictDoNothing()
      const action = leaving ? 'member.left' : 'member.removed'
      await recordAudit(tx, clock, caller, { orgId, action, subject: member.email })
      return {}
    })

const membership = (orgId: string, userId: string) =>
  and(eq(memberships.orgId, orgId), eq(memberships.userId, userId))

/**
 * Two owners who lower each other at the same moment must not both succeed: whoever comes second waits here
 * and then reads the roles as they are.
 */
async function lockOwners(tx: Transaction, orgId: string): Promise<void> {
  await tx
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.role, 'owner')))
    .orderBy(memberships.userId)
    .for('update')
}

async function findMember(tx: Transaction, orgId: string, userId: string) {
  const [member] = await tx
    .select(MEMBER_COLUMNS)
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(membership(orgId, userId))
    // Somebody may be accepting an invitation to another role at this moment.
    .for('update', { of: memberships })
  if (!member) throw notFound()
  return member
}

/** Otherwise somebody who is about to go could keep a link to come back by. */
async function takeBackInvitationsOf(
  tx: Transaction,
  clock: Clock,
  orgId: string,
  userId: string,
): Promise<void> {
  await tx
    .update(invitations)
    .set({ revokedAt: clock() })
    .where(
      and(
        eq(invitations.orgId, orgId),
        eq(invitations.invitedBy, userId),
        isNull(invitations.acceptedAt),
        isNull(invitations.revokedAt),
      ),
    )
}

function refuseAbove(caller: MemberCaller, role: Role): void {
  if (!atLeast(caller.role, role)) throw new ServiceError('FORBIDDEN', 'This person’s role is above yours')
}

async function requireAnotherOwner(tx: Transaction, orgId: string, userId: string): Promise<void> {
  const owners = await tx
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.role, 'owner')))
  if (owners.some((owner) => owner.userId !== userId)) return
  throw new ServiceError('CONFLICT', 'An organization keeps at least one owner', {
    hint: 'Make another member owner first.',
  })
}
