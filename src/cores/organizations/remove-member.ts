/** Removes a member, or leaves. It acts on the very next call of every token and session. */
import { lockAuthor } from '../lock-author.ts'
import { requireMember, requireSession } from '../principal.ts'
import { write, type Verb } from '../verb.ts'
import { endMember } from './end-member.ts'
import { lockOwners } from './membership-changes.ts'

export const removeMember: Verb<'removeMember'> = write(
  { audit: ['member.left', 'member.removed', 'identity_link.removed'], events: 'org.member.removed' },
  async ({ tx, clock, orgId, userId, principal }, { user_id }) => {
    if (user_id === userId) requireSession(principal)
    await lockOwners(tx, orgId)
    const author = await lockAuthor(tx, clock, requireMember(principal), 'viewer')
    await endMember(tx, clock, author, user_id)
    return {}
  },
)
