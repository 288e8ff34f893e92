/** Who a verified assertion is about, for exchanges and dry runs alike. It changes nothing. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, exists, isNotNull, sql } from '../../../db/drizzle.ts'
import { formerMembers, identityLinks, memberships, users } from '../../../db/schema.ts'
import type { Role } from '../../contracts/roles.ts'
import { isInactiveAtDirectory, wasRemoved } from '../organizations/index.ts'
import type { ProviderRow } from './provider-rows.ts'
import type { Assertion, Refused } from './verify-assertion.ts'
import { isInDomains, vouchedEmail } from './vouched-email.ts'

type User = { readonly id: string; readonly name: string }
export type FoundPerson<Found extends User = User & { readonly email: string }> = {
  readonly user: Found
  readonly role: Role
}

/** Nobody has the address, and in the domains of the organization an account is made for it. */
export type Newcomer = { readonly newcomer: string }

type Provider = Pick<ProviderRow, 'id' | 'orgId' | 'linking'>

export async function findPerson(
  db: Handle,
  provider: Provider,
  assertion: Assertion,
): Promise<FoundPerson | Newcomer | Refused> {
  const { id, orgId } = provider
  const [linked] = await db
    .select({ user: { ...USER, kind: users.kind }, role: memberships.role })
    .from(identityLinks)
    .innerJoin(users, eq(users.id, identityLinks.userId))
    .leftJoin(memberships, and(eq(memberships.userId, users.id), eq(memberships.orgId, orgId)))
    .where(and(eq(identityLinks.providerId, id), eq(identityLinks.subject, assertion.subject)))
  return linked ? linkedPerson(linked, assertion) : findUnlinked(db, provider, assertion)
}

/** Of a subject that is linked. */
export function linkedPerson<Found extends User & { readonly kind: string }>(
  { user, role }: { readonly user: Found; readonly role: Role | null },
  { userId }: Pick<Assertion, 'userId'>,
): FoundPerson<Found> | Refused {
  if (user.kind !== 'person') return { reason: 'not_linked' }
  if (userId !== undefined && userId !== user.id) return { reason: 'claims' }
  return role === null ? { reason: 'not_a_member' } : { user, role }
}

/**
 * Of a subject that nobody is linked to: as far as the organization lets its provider link by itself, the member who has
 * its verified address, or a newcomer. An account of somebody else's with this address is left alone: it joins when its
 * person signs in.
 */
export async function findUnlinked(
  db: Handle,
  { id, orgId, linking }: Provider,
  assertion: Pick<Assertion, 'userId' | 'email'>,
): Promise<FoundPerson | Newcomer | Refused> {
  if (linking === 'admin') return { reason: 'not_linked' }
  const { userId } = assertion
  const email = await vouchedEmail(db, orgId, assertion)
  if (email === undefined) return { reason: 'email_unverified' }
  // Only by an address that they have proven here: anybody can claim to have one.
  const found = await db
    .select({ user: USER, kind: users.kind, role: memberships.role, isLinked: isLinkedAt(db, id) })
    .from(users)
    .leftJoin(memberships, and(eq(memberships.userId, users.id), eq(memberships.orgId, orgId)))
    .where(and(eq(users.email, email), isNotNull(users.emailVerifiedAt)))
  const [member, another] = found.filter(({ kind, role }) => kind === 'person' && role !== null)
  // Two accounts with one address: only an admin knows which.
  if (member && !another) {
    // An address that was given to somebody else must not bring the account of whoever had it.
    if (member.isLinked) return { reason: 'subject_changed' }
    // Whoever runs the provider says which address somebody has: for owners that is no proof.
    if (member.role === 'owner') return { reason: 'not_linked' }
    const isMeant = userId === undefined || userId === member.user.id
    return isMeant ? { user: member.user, role: member.role! } : { reason: 'claims' }
  }
  const isOurs = await isInDomains(db, orgId, email)
  if (linking !== 'domain' || !isOurs || found.length > 0) return { reason: 'email_unknown' }
  // It names an account here, and none has the address.
  if (userId !== undefined) return { reason: 'claims' }
  const [former] = await db
    .select({ userId: formerMembers.userId })
    .from(formerMembers)
    .where(and(eq(formerMembers.orgId, orgId), wasRemoved('', email)))
    .limit(1)
  if (await isInactiveAtDirectory(db, orgId, email)) return { reason: 'not_a_member' }
  return former ? { reason: 'not_a_member' } : { newcomer: email }
}

const USER = { id: users.id, email: users.email, name: users.name }

const isLinkedAt = (db: Handle, providerId: string) =>
  sql<boolean>`${exists(
    db
      .select({ id: identityLinks.id })
      .from(identityLinks)
      .where(and(eq(identityLinks.userId, users.id), eq(identityLinks.providerId, providerId))),
  )}`
