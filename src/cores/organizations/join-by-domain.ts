/** Whoever signs in with a verified address in an organization's domain joins it as a member. */
import { and, eq, notExists, sql } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { formerMembers, memberships, organizationDomains } from '../../../db/schema.ts'
import { recordAudit, type AuditActor } from '../audit/index.ts'
import type { Clock } from '../dependencies.ts'

/** Only for a verified address: an unverified one would open any organization to anybody. */
export async function joinByDomain(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor & { userId: string },
  verifiedEmail: string,
): Promise<void> {
  const domain = verifiedEmail.slice(verifiedEmail.lastIndexOf('@') + 1)
  const [found] = await tx
    .select({ orgId: organizationDomains.orgId })
    .from(organizationDomains)
    .where(
      and(
        eq(organizationDomains.domain, domain),
        // Whoever was removed stays out until somebody invites them again.
        notExists(
          tx
            .select({ one: sql`1` })
            .from(formerMembers)
            .where(
              and(eq(formerMembers.orgId, organizationDomains.orgId), eq(formerMembers.userId, actor.userId)),
            ),
        ),
      ),
    )
  if (!found) return
  const joined = await tx
    .insert(memberships)
    .values({
      orgId: found.orgId,
      userId: actor.userId,
      role: 'member',
      joinedBy: 'domain',
      joinedAt: clock(),
    })
    .onConflictDoNothing()
    .returning({ orgId: memberships.orgId })
  if (joined.length === 0) return
  await recordAudit(tx, clock, actor, {
    orgId: found.orgId,
    action: 'member.joined',
    subject: `through ${domain}`,
  })
}
