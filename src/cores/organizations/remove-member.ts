/** Removes a member, or leaves. It acts on the very next call of every token and session. */
import { randomUUID } from 'node:crypto'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { recordEvent } from '../notifications/index.ts'
import { requireMember, requireRole, requireSession } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { endAccess } from './end-access.ts'
import { lockOwners, findMember, refuseHigherRole, requireAnotherOwner } from './membership-changes.ts'

export const removeMember =
  ({ db, clock }: Storage): Handler<'removeMember'> =>
  (principal, { user_id }) =>
    withTransaction(db, async (tx) => {
      const { orgId, userId } = requireMember(principal)
      const leaving = user_id === userId
      if (leaving) requireSession(principal)
      await lockOwners(tx, orgId)
      const member = await lockAuthor(tx, clock, requireMember(principal), 'viewer')
      const target = await findMember(tx, orgId, user_id)
      if (!leaving) {
        requireRole(member, 'admin', 'Only owners and admins may remove others')
        refuseHigherRole(member, target.role)
      }
      if (target.role === 'owner') await requireAnotherOwner(tx, orgId, user_id)
      await endAccess(tx, clock, { orgId, userId: user_id }, null)
      await recordEvent(tx, clock, {
        orgId,
        type: 'org.member.removed',
        subject: `members/${user_id}`,
        source: 'members',
        // They can come back, and leave again.
        dedupKey: `removed:${user_id}:${randomUUID()}`,
        actorId: userId,
        data: { user_id },
      })
      const action = leaving ? 'member.left' : 'member.removed'
      await recordAudit(tx, clock, member, { orgId, action, subject: target.email })
      return {}
    })
