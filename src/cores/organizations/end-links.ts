/** Ends links of a member to subjects of the identity provider, in the transaction that changes the membership. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, inArray, isNotNull, ne } from '../../../db/drizzle.ts'
import { identityLinks, organizationIdentityProviders, platformAccessGrants } from '../../../db/schema.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import type { Clock } from '../dependencies.ts'
import { endGrants } from '../grants/index.ts'

type Member = { readonly orgId: string; readonly userId: string }

const providersOf = (tx: Transaction, orgId: string) =>
  tx
    .select({ id: organizationIdentityProviders.id })
    .from(organizationIdentityProviders)
    .where(eq(organizationIdentityProviders.orgId, orgId))

const linksOf = (tx: Transaction, { orgId, userId }: Member) =>
  and(eq(identityLinks.userId, userId), inArray(identityLinks.providerId, providersOf(tx, orgId)))

/** With the membership: whoever comes back is linked anew. */
export async function endLinks(tx: Transaction, member: Member): Promise<void> {
  await tx.delete(identityLinks).where(linksOf(tx, member))
}

/**
 * Of somebody who is made owner: an admin may have made the link, or it came about by an address, and neither may lead to
 * an owner. The link goes first: an exchange holds it, so it is waited for, and the grant it made is found.
 */
export async function endUnprovenLinks(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  member: Member,
): Promise<void> {
  const { orgId, userId } = member
  const ended = await tx
    .delete(identityLinks)
    .where(and(linksOf(tx, member), ne(identityLinks.linkedBy, 'proof')))
    .returning({ subject: identityLinks.subject })
  if (ended.length === 0) return
  const grants = platformAccessGrants
  const theirs = and(eq(grants.orgId, orgId), eq(grants.userId, userId), isNotNull(grants.identityProviderId))
  await endGrants(tx, clock, theirs, 'unlinked')
  for (const { subject } of ended) {
    await recordAudit(tx, clock, actor, {
      orgId,
      action: 'identity_link.removed',
      subject: `${subject}: its member is an owner now`,
    })
  }
}
