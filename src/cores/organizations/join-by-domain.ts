/** Whoever signs in with a verified address in an organization's domain joins it as a member. */
import { and, eq, or, sql } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { formerMembers, memberships, organizationDomains, organizations } from '../../../db/schema.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import type { Clock } from '../dependencies.ts'
import { currentMembership } from './current-membership.ts'
import { isInactiveAtDirectory } from './inactive-at-directory.ts'
import { recordJoinedAnother } from './record-joined-another.ts'

/** Only for a verified address: an unverified one would open any organization to anybody. */
export async function joinByDomain(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor & { userId: string },
  verifiedEmail: string,
): Promise<void> {
  const domain = verifiedEmail.slice(verifiedEmail.lastIndexOf('@') + 1)
  const [found] = await tx
    .select({ orgId: organizationDomains.orgId, name: organizations.name })
    .from(organizationDomains)
    .innerJoin(organizations, eq(organizations.id, organizationDomains.orgId))
    .where(eq(organizationDomains.domain, domain))
  if (!found) return
  const { orgId, name } = found
  const { userId } = actor
  const [member] = await tx
    .select({ id: memberships.id })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
  if (member || (await isInactiveAtDirectory(tx, orgId, verifiedEmail))) return
  const elsewhere = await currentMembership(tx, userId)
  const joined = await tx
    .insert(memberships)
    .values({ orgId, userId, role: 'member', joinedBy: 'domain', joinedAt: clock() })
    .onConflictDoNothing()
    .returning({ orgId: memberships.orgId })
  if (joined.length === 0) return
  // Asked after the insert, which waits for a removal that is under way: asked before, it would not see that one.
  const [former] = await tx
    .select({ userId: formerMembers.userId })
    .from(formerMembers)
    .where(and(eq(formerMembers.orgId, orgId), wasRemoved(userId, verifiedEmail)))
    .limit(1)
  if (former) {
    await tx.delete(memberships).where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
    return
  }
  await recordAudit(tx, clock, actor, { orgId, action: 'member.joined', subject: `through ${domain}` })
  await recordJoinedAnother(tx, clock, actor, elsewhere, name)
}

/** Whoever was removed stays out until somebody invites them again, with a second account on the same address too. */
export const wasRemoved = (userId: string, email: string) =>
  or(eq(formerMembers.userId, userId), sql`${email} = any(${formerMembers.emails})`)
