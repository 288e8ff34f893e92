/** Ends links of a member to subjects of the identity provider, in the transaction that changes the membership. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { alias, and, asc, eq, gte, inArray, isNotNull, ne, or, sql } from '../../../db/drizzle.ts'
import {
  identityLinks,
  memberships,
  organizationIdentityProviders,
  platformAccessGrants,
  users,
} from '../../../db/schema.ts'
import { atLeast } from '../../contracts/roles.ts'
import { recordAudit, recordAudits, type AuditActor } from '../record-audit.ts'
import { recordEnding } from '../record-ending.ts'
import type { Clock } from '../dependencies.ts'
import type { People } from '../credentials/index.ts'
import { andEnded, endGrants } from '../grants/index.ts'

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
  await endGrantsByProvider(tx, clock, orgId, [userId])
  for (const { subject } of ended) {
    await recordAudit(tx, clock, actor, {
      orgId,
      action: 'identity_link.removed',
      subject: `${subject}: its member is an owner now`,
    })
  }
}

/**
 * After a change of roles: links that one of these people made by hand, or that lead to one of them, where their maker may not
 * make them any more. Somebody who links a subject of their own to another person can come in as that person, and must gain
 * nothing by it. Only those to admins and owners end: whoever leaves may have linked everybody else for the whole organization.
 */
export async function endLinksAboveMakers(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  { orgId, userIds }: { readonly orgId: string; readonly userIds: readonly string[] },
): Promise<void> {
  const given = sql`(select value from json_array_elements_text(${JSON.stringify(userIds)}::text::json))`
  const { createdBy, userId } = identityLinks
  const isOfThem = and(
    inArray(identityLinks.providerId, providersOf(tx, orgId)),
    ne(createdBy, userId),
    or(sql`${createdBy} in ${given}`, sql`${userId} in ${given}`),
  )
  // Locked before roles are read: of two changes at once, of the maker and of the member, the second sees the first.
  const [known] = await tx
    .select({ id: identityLinks.id })
    .from(identityLinks)
    .where(isOfThem)
    .orderBy(asc(identityLinks.id))
    .for('update')
  if (!known) return
  const above = await linksAboveMakers(tx, orgId, isOfThem)
  if (above.length === 0) return
  const ids = above.map(({ id }) => id)
  await tx.delete(identityLinks).where(inArray(identityLinks.id, ids))
  const grants = await endGrantsByProvider(tx, clock, orgId, [...new Set(above.map((link) => link.userId))])
  const countOf = (userId: string) => grants.filter((grant) => grant.userId === userId).length
  const subjects = above.map((link) =>
    andEnded(`${link.subject}: ${link.email}; whoever linked it may not any more`, countOf(link.userId)),
  )
  await recordAudits(tx, clock, actor, { orgId, action: 'identity_link.removed' }, subjects)
}

/**
 * Somebody else was in: links that these people made by hand since then, for whomever, also for themselves; and the agents that
 * came in by them.
 */
export async function endLinksMadeSince(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  { people, after }: { readonly people: Pick<People, 'lasting'>; readonly after: Date },
): Promise<readonly { readonly orgId: string }[]> {
  const { orgIds, isBy } = people.lasting
  const { id, orgId, edition } = organizationIdentityProviders
  const isTheirs = inArray(orgId, [...orgIds])
  const providers = await tx.select({ id, orgId }).from(organizationIdentityProviders).where(isTheirs)
  const grants = []
  for (const provider of providers) {
    const { createdAt, createdBy, providerId } = identityLinks
    const links = await tx
      .delete(identityLinks)
      .where(and(eq(providerId, provider.id), isBy(createdBy), gte(createdAt, after)))
      .returning()
    if (links.length === 0) continue
    // As by `unlinkIdentity`: after a lost tail the provider is paused, because the links are back.
    const [next] = await tx
      .update(organizationIdentityProviders)
      .set({ edition: sql`${edition} + 1` })
      .where(eq(id, provider.id))
      .returning({ edition })
    recordEnding(tx, 'identity_provider', [{ ...provider, to: { edition: String(next!.edition) } }])
    const userIds = [...new Set(links.map(({ userId }) => userId))]
    grants.push(...(await endGrantsByProvider(tx, clock, provider.orgId, userIds)))
    const removed = { orgId: provider.orgId, action: 'identity_link.removed' } as const
    const subjects = links.map(({ subject }) => `${subject}: linked since ${after.toISOString()}`)
    await recordAudits(tx, clock, actor, removed, subjects)
  }
  return grants
}

async function linksAboveMakers(tx: Transaction, orgId: string, which: SQL | undefined) {
  const makers = alias(memberships, 'makers')
  const rows = await tx
    .select({
      id: identityLinks.id,
      subject: identityLinks.subject,
      userId: users.id,
      email: users.email,
      role: memberships.role,
      makerRole: makers.role,
    })
    .from(identityLinks)
    .innerJoin(users, eq(users.id, identityLinks.userId))
    .innerJoin(memberships, and(eq(memberships.orgId, orgId), eq(memberships.userId, users.id)))
    .leftJoin(makers, and(eq(makers.orgId, orgId), eq(makers.userId, identityLinks.createdBy)))
    .where(which)
  return rows.filter(
    ({ role, makerRole }) => atLeast(role, 'admin') && !(makerRole !== null && atLeast(makerRole, role)),
  )
}

const endGrantsByProvider = (tx: Transaction, clock: Clock, orgId: string, userIds: readonly string[]) => {
  const { orgId: organization, userId, identityProviderId } = platformAccessGrants
  const theirs = and(eq(organization, orgId), inArray(userId, [...userIds]), isNotNull(identityProviderId))
  return endGrants(tx, clock, theirs, 'unlinked')
}
