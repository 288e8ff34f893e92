/** Removes a member, or leaves. It acts on the very next call of every token and session. */
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { apiTokens, formerMembers, memberships } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { removeFromApps } from '../apps/index.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember, requireRole } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import {
  membership,
  lockOwners,
  findMember,
  revokeInvitationsBy,
  refuseHigherRole,
  requireAnotherOwner,
} from './membership-changes.ts'

export const removeMember =
  ({ db, clock }: Storage): Handler<'removeMember'> =>
  (principal, { user_id }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const { orgId } = member
      const leaving = user_id === member.userId
      await lockOwners(tx, orgId)
      const target = await findMember(tx, orgId, user_id)
      if (!leaving) {
        requireRole(member, 'admin', 'Only owners and admins may remove others')
        refuseHigherRole(member, target.role)
      }
      if (target.role === 'owner') await requireAnotherOwner(tx, orgId, user_id)
      await tx.delete(memberships).where(membership(orgId, user_id))
      // Coming back later must not revive old tokens, nor old roles on apps.
      await tx
        .update(apiTokens)
        .set({ revokedAt: clock() })
        .where(and(eq(apiTokens.orgId, orgId), eq(apiTokens.userId, user_id), isNull(apiTokens.revokedAt)))
      await revokeInvitationsBy(tx, clock, orgId, user_id)
      await removeFromApps(tx, orgId, user_id)
      await tx.insert(formerMembers).values({ orgId, userId: user_id, since: clock() }).onConflictDoNothing()
      const action = leaving ? 'member.left' : 'member.removed'
      await recordAudit(tx, clock, member, { orgId, action, subject: target.email })
      return {}
    })
