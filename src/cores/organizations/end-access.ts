/** Ends what a membership gave, in the transaction that ends the membership or lowers its role. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, inArray, isNotNull, or } from '../../../db/drizzle.ts'
import {
  apiTokens,
  formerMembers,
  identities,
  invitations,
  memberships,
  platformAccessGrants,
  users,
} from '../../../db/schema.ts'
import type { Role } from '../../contracts/roles.ts'
import type { Clock } from '../dependencies.ts'
import { endGrants } from '../grants/index.ts'
import { revokeApiTokens } from '../api-tokens/index.ts'
import { revokeCredentialsMadeBy } from '../machine-agents/index.ts'
import { endLinks } from './end-links.ts'
import { revokeInvitations } from './revoke-invitations.ts'

/**
 * Null for `remainingRole`: they are removed or leave. Tokens, grants, invitations and links end for good, and a part in an app
 * carries the id of the membership and is void without it, so coming back revives nothing. With a lower role tokens and
 * agents stay and act with that role; what only the higher one could do ends: invitations, and credentials of machine
 * agents above it.
 */
export async function endAccess(
  tx: Transaction,
  clock: Clock,
  { orgId, userId }: { readonly orgId: string; readonly userId: string },
  remainingRole: Exclude<Role, 'member'> | null,
): Promise<void> {
  await revokeInvitations(tx, clock, and(eq(invitations.orgId, orgId), eq(invitations.invitedBy, userId)))
  await revokeCredentialsMadeBy(tx, clock, { orgId, userId }, remainingRole)
  if (remainingRole !== null) return
  await tx.delete(memberships).where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
  await revokeApiTokens(tx, clock, and(eq(apiTokens.orgId, orgId), eq(apiTokens.userId, userId)))
  await endGrants(
    tx,
    clock,
    and(eq(platformAccessGrants.orgId, orgId), eq(platformAccessGrants.userId, userId)),
    'access_ended',
  )
  await endLinks(tx, { orgId, userId })
  const emails = await verifiedEmails(tx, userId)
  // Older than the removal: whoever is to come back is invited again. Also to an address that was never verified, as
  // without a mail server.
  const [user] = await tx.select({ email: users.email }).from(users).where(eq(users.id, userId))
  const invited = [...emails, ...(user ? [user.email] : [])]
  await revokeInvitations(tx, clock, and(eq(invitations.orgId, orgId), inArray(invitations.email, invited)))
  const former = { emails, since: clock() }
  await tx
    .insert(formerMembers)
    .values({ orgId, userId, ...former })
    .onConflictDoUpdate({ target: [formerMembers.orgId, formerMembers.userId], set: former })
}

/** Their own, and those that an identity provider vouched for: either may open a domain to another account. */
async function verifiedEmails(tx: Transaction, userId: string): Promise<string[]> {
  const rows = await tx
    .select({ own: users.email, ownVerifiedAt: users.emailVerifiedAt, told: identities.email })
    .from(users)
    .leftJoin(identities, and(eq(identities.userId, users.id), eq(identities.emailVerified, true)))
    .where(and(eq(users.id, userId), or(isNotNull(users.emailVerifiedAt), isNotNull(identities.email))))
  const emails = rows.flatMap(({ own, ownVerifiedAt, told }) => [ownVerifiedAt && own, told])
  return [...new Set(emails.flatMap((email) => email?.toLowerCase() ?? []))]
}
