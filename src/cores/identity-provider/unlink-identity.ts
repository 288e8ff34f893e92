/** Removes the link of a subject, and with it what its person got by the provider. */
import { and, eq } from '../../../db/drizzle.ts'
import { identityLinks, memberships, platformAccessGrants, users } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { refuseHigherRole } from '../organizations/index.ts'
import { write, type Verb } from '../verb.ts'
import { andEnded, endGrantsOf, lockProvider } from './provider-rows.ts'

export const unlinkIdentity: Verb<'unlinkIdentity'> = write(
  { author: 'admin', audit: 'identity_link.removed' },
  async ({ tx, clock, member, orgId, audit }, { link_id }) => {
    const provider = await lockProvider(tx, orgId)
    const isThis = and(eq(identityLinks.id, link_id), eq(identityLinks.providerId, provider.id))
    const [found] = await tx
      .select({ link: identityLinks, email: users.email, role: memberships.role })
      .from(identityLinks)
      .innerJoin(users, eq(users.id, identityLinks.userId))
      .leftJoin(memberships, and(eq(memberships.userId, users.id), eq(memberships.orgId, orgId)))
      .where(isThis)
    if (!found) throw notFound()
    // Whoever is no member any more is below everybody.
    if (found.role !== null) refuseHigherRole(member, found.role)
    await tx.delete(identityLinks).where(isThis)
    const ofPerson = eq(platformAccessGrants.userId, found.link.userId)
    const ended = await endGrantsOf(tx, clock, provider, 'unlinked', ofPerson)
    const subject = andEnded(`${found.link.subject}: ${found.email}`, ended)
    await audit('identity_link.removed', subject)
    return {}
  },
)
