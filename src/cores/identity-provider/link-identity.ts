/** Links a subject of the identity provider to a member. A link never moves: it is removed, and made anew. */
import { and, eq } from '../../../db/drizzle.ts'
import { identityLinks } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { findMember, refuseHigherRole } from '../organizations/index.ts'
import { write, type Verb } from '../verb.ts'
import { presentLink } from './identity-links.ts'
import { lockProvider } from './provider-rows.ts'

export const linkIdentity: Verb<'linkIdentity'> = write(
  { author: 'admin', audit: 'identity_link.created' },
  async ({ tx, clock, member, orgId, userId, audit }, { subject, user_id }) => {
    const provider = await lockProvider(tx, orgId)
    const target = await findMember(tx, orgId, user_id, 'share')
    refuseHigherRole(member, target.role)
    const now = clock()
    const [link] = await tx
      .insert(identityLinks)
      .values({
        id: makeId('idl', now.getTime()),
        providerId: provider.id,
        subject,
        userId: user_id,
        linkedBy: 'admin',
        createdBy: userId,
        createdAt: now,
      })
      .onConflictDoNothing()
      .returning()
    const user = { id: user_id, email: target.email, name: target.name }
    if (!link) {
      const [known] = await tx
        .select()
        .from(identityLinks)
        .where(and(eq(identityLinks.providerId, provider.id), eq(identityLinks.subject, subject)))
      // Asked for twice, perhaps because the answer was lost.
      if (known?.userId === user_id) return presentLink({ link: known, user })
      throw new ServiceError('CONFLICT', 'This subject is linked already', {
        hint: 'Remove its link first.',
      })
    }
    await audit('identity_link.created', `${subject}: ${target.email}`)
    return presentLink({ link, user })
  },
)
