/** Removes a member, or leaves. It acts on the very next call of every token and session. */
import { randomUUID } from 'node:crypto'
import { lockAuthor } from '../lock-author.ts'
import { requireMember, requireRole, requireSession } from '../principal.ts'
import { write, type Verb } from '../verb.ts'
import { endAccess } from './end-access.ts'
import { lockOwners, findMember, refuseHigherRole, requireAnotherOwner } from './membership-changes.ts'

export const removeMember: Verb<'removeMember'> = write(
  { audit: ['member.left', 'member.removed'], events: 'org.member.removed' },
  async ({ tx, clock, orgId, userId, principal, audit, event }, { user_id }) => {
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
    await event({
      orgId,
      type: 'org.member.removed',
      subject: `members/${user_id}`,
      source: 'members',
      // They can come back, and leave again.
      dedupKey: `removed:${user_id}:${randomUUID()}`,
      actorId: userId,
      data: { user_id },
    })
    await audit(leaving ? 'member.left' : 'member.removed', target.email)
    return {}
  },
)
