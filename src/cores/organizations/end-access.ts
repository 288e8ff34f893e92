/** Ends what a membership gave, in the transaction that ends the membership or lowers its role. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, isNotNull, or } from '../../../db/drizzle.ts'
import { formerMembers, identities, memberships, users } from '../../../db/schema.ts'
import type { Role } from '../../contracts/roles.ts'
import type { Clock } from '../dependencies.ts'
import { endByCause } from '../credentials/index.ts'
import type { AuditActor } from '../record-audit.ts'
import { recordEnding } from '../record-ending.ts'
import { endLinks, endLinksAboveMakers } from './end-links.ts'

/** In the audit rows of links, where it is not said who ends the access. */
const BY_SVC: AuditActor = { kind: 'anonymous', userId: null, userName: 'svc', requestId: 'access-ended' }

/**
 * Null for `remainingRole`: they are removed or leave. Tokens, grants, invitations and links end for good, and a part in an app
 * carries the id of the membership and is void without it, so coming back revives nothing. With a lower role tokens and
 * agents stay and act with that role; what only the higher one could do ends: invitations, credentials of machine
 * agents above it, and links by which they could come in as somebody above it.
 */
export async function endAccess(
  tx: Transaction,
  clock: Clock,
  { orgId, userId }: { readonly orgId: string; readonly userId: string },
  remainingRole: Exclude<Role, 'member'> | null,
  actor: AuditActor = BY_SVC,
): Promise<void> {
  if (remainingRole !== null) {
    await endByCause(tx, clock, { cause: 'role_lowered', orgId, userIds: [userId], role: remainingRole })
    await endLinksAboveMakers(tx, clock, actor, { orgId, userIds: [userId] })
    return
  }
  await endByCause(tx, clock, { cause: 'membership_ended', orgId, userId })
  const removed = await tx
    .delete(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
    .returning({ id: memberships.id, orgId: memberships.orgId })
  recordEnding(tx, 'membership', removed)
  await endLinks(tx, { orgId, userId })
  await endLinksAboveMakers(tx, clock, actor, { orgId, userIds: [userId] })
  const emails = await verifiedEmails(tx, userId)
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
