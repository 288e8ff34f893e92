/**
 * Links a subject that nobody is linked to yet: to the member who was found by its address, or to an account that is made
 * for it. A link that exists never moves: an address can be given to somebody else.
 */
import type { Transaction } from '../../../../db/connect.ts'
import { and, eq } from '../../../../db/drizzle.ts'
import { identityLinks, memberships, organizationIdentityProviders, users } from '../../../../db/schema.ts'
import { DisplayName } from '../../../contracts/fields.ts'
import { makeId } from '../../../contracts/ids.ts'
import type { Role } from '../../../contracts/roles.ts'
import { recordAudit } from '../../record-audit.ts'
import type { Clock } from '../../dependencies.ts'
import { releaseEmail } from '../../email-addresses/index.ts'
import { findUnlinked, type FoundPerson, type Newcomer } from '../find-person.ts'
import { isRefused, type Assertion } from '../verify-assertion.ts'

type Provider = Pick<typeof organizationIdentityProviders.$inferSelect, 'id' | 'orgId' | 'name' | 'edition'>
type Tx = { readonly db: Transaction; readonly clock: Clock }

/**
 * In the transaction that uses the assertion, which is undone if that fails. Answers who is linked now; `void`: they are
 * not found as they were when it was decided.
 */
export async function linkSubject(
  deps: Tx,
  { id, edition }: Provider,
  assertion: Assertion,
  decided: FoundPerson | Newcomer,
  requestId: string,
): Promise<{ user: { id: string; name: string }; linkId: string } | 'void'> {
  const { db: tx, clock } = deps
  // Links are made one after the other: two assertions at once must not make two accounts.
  const [provider] = await tx
    .select()
    .from(organizationIdentityProviders)
    .where(eq(organizationIdentityProviders.id, id))
    .for('update')
  if (provider?.state !== 'on' || provider.edition !== edition) return 'void'
  const found = await findUnlinked(tx, provider, assertion)
  if (isRefused(found) || !isSame(found, decided)) return 'void'
  // Somebody who is being removed, or made owner, at this moment: that ends the link, or comes first and is seen.
  if ('user' in found && (await lockRole(tx, provider.orgId, found.user.id)) !== found.role) return 'void'
  const now = clock()
  const linkId = makeId('idl', now.getTime())
  const { subject } = assertion
  const isNew = 'newcomer' in found
  const user = isNew ? await joinAsMember(deps, provider, found, assertion.name, requestId) : found.user
  const linkedBy = isNew ? 'domain' : 'email'
  const [made] = await tx
    .insert(identityLinks)
    .values({ id: linkId, providerId: id, subject, userId: user.id, linkedBy, createdAt: now })
    .onConflictDoNothing()
    .returning({ id: identityLinks.id })
  if (!made) return 'void'
  const actor = { kind: 'user' as const, userId: user.id, userName: user.name, requestId }
  await recordAudit(tx, clock, actor, {
    orgId: provider.orgId,
    action: 'identity_link.created',
    subject: `${user.name}: ${subject}`,
  })
  return { user, linkId }
}

async function lockRole(tx: Transaction, orgId: string, userId: string): Promise<Role | undefined> {
  const [membership] = await tx
    .select({ role: memberships.role })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
    .for('share')
  return membership?.role
}

function isSame(found: FoundPerson | Newcomer, decided: FoundPerson | Newcomer): boolean {
  if ('newcomer' in found || 'newcomer' in decided) return 'newcomer' in found && 'newcomer' in decided
  return found.user.id === decided.user.id && found.role === decided.role
}

async function joinAsMember(
  { db: tx, clock }: Tx,
  { orgId, name: providerName }: Provider,
  { newcomer: email }: Newcomer,
  name: string | undefined,
  requestId: string,
): Promise<{ id: string; name: string }> {
  const now = clock()
  const id = makeId('usr', now.getTime())
  const shown = DisplayName.safeParse(name ?? '')
  const person = { id, name: shown.success ? shown.data : email }
  await tx.insert(users).values({ ...person, email, emailVerifiedAt: now, createdAt: now })
  await releaseEmail(tx, clock, email, id)
  await tx
    .insert(memberships)
    .values({ orgId, userId: id, role: 'member', joinedBy: 'identity_provider', joinedAt: now })
  await recordAudit(
    tx,
    clock,
    { kind: 'user', userId: id, userName: person.name, requestId },
    { orgId, action: 'member.joined', subject: `through ${providerName}` },
  )
  return person
}
