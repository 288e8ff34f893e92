/** Changes the role of a member. It acts on the very next call of every token and session. */
import { memberships } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { atLeast } from '../../contracts/roles.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireMember } from '../principal.ts'
import { recordNarrowing, recordWidening } from '../right-versions.ts'
import { write, type Verb } from '../verb.ts'
import { endAccess } from './end-access.ts'
import { endLinksAboveMakers, endUnprovenLinks } from './end-links.ts'
import { presentMember } from './present-member.ts'
import {
  membership,
  lockOwners,
  findMember,
  refuseHigherRole,
  requireAnotherOwner,
} from './membership-changes.ts'

export const changeMemberRole: Verb<'changeMemberRole'> = write(
  { audit: ['member.role_changed', 'identity_link.removed'] },
  async ({ tx, clock, principal, orgId, audit }, { user_id, role }) => {
    await lockOwners(tx, orgId)
    const member = await lockAuthor(tx, clock, requireMember(principal), 'admin')
    const target = await findMember(tx, orgId, user_id)
    refuseHigherRole(member, target.role)
    if (!atLeast(member.role, role))
      throw new ServiceError('FORBIDDEN', 'You cannot grant a role above your own')
    if (target.role === 'owner' && role !== 'owner') await requireAnotherOwner(tx, orgId, user_id)
    if (target.role === role) return presentMember(target)
    await tx.update(memberships).set({ role }).where(membership(orgId, user_id))
    const right = { id: target.membershipId, orgId }
    if (atLeast(role, target.role)) {
      await recordWidening(tx, 'role', right)
      await endLinksAboveMakers(tx, clock, member, { orgId, userIds: [user_id] })
    } else {
      await endAccess(tx, clock, { orgId, userId: user_id }, role, member)
      await recordNarrowing(tx, 'role', { ...right, to: { role } })
    }
    if (role === 'owner') {
      await endUnprovenLinks(tx, clock, member, { orgId, userId: user_id })
    }
    await audit('member.role_changed', `${target.email}: ${target.role} → ${role}`)
    return presentMember({ ...target, role })
  },
)
