/** Changes the role of a member. It acts on the very next call of every token and session. */
import { memberships } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { atLeast } from '../../contracts/roles.ts'
import { recordAudit } from '../audit/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { endAccess } from './end-access.ts'
import { endUnprovenLinks } from './end-links.ts'
import { presentMember } from './present-member.ts'
import {
  membership,
  lockOwners,
  findMember,
  refuseHigherRole,
  requireAnotherOwner,
} from './membership-changes.ts'

export const changeMemberRole =
  ({ db, clock }: Storage): Handler<'changeMemberRole'> =>
  (principal, { user_id, role }) =>
    withTransaction(db, async (tx) => {
      await lockOwners(tx, requireMember(principal).orgId)
      const member = await lockAuthor(tx, clock, requireMember(principal), 'admin')
      const target = await findMember(tx, member.orgId, user_id)
      refuseHigherRole(member, target.role)
      if (!atLeast(member.role, role))
        throw new ServiceError('FORBIDDEN', 'You cannot grant a role above your own')
      if (target.role === 'owner' && role !== 'owner') await requireAnotherOwner(tx, member.orgId, user_id)
      if (target.role === role) return presentMember(target)
      await tx.update(memberships).set({ role }).where(membership(member.orgId, user_id))
      if (!atLeast(role, target.role)) {
        await endAccess(tx, clock, { orgId: member.orgId, userId: user_id }, role)
      }
      if (role === 'owner') {
        await endUnprovenLinks(tx, clock, member, { orgId: member.orgId, userId: user_id })
      }
      const subject = `${target.email}: ${target.role} → ${role}`
      await recordAudit(tx, clock, member, {
        orgId: member.orgId,
        action: 'member.role_changed',
        subject,
      })
      return presentMember({ ...target, role })
    })
