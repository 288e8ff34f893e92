/** Whoever proves an address in an organization's domain becomes a regular member on signing in. */
import { and, eq, notExists, sql } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { formerMembers, memberships, organizationDomains } from '../../../db/schema.ts'
import { recordAudit, type AuditBy } from '../audit/index.ts'
import type { Clock } from '../needs.ts'

/** The caller has made sure that the address is verified: an unverified one would open any organization to anybody. */
export async function joinByDomain(
  tx: Transaction,
  clock: Clock,
  by: AuditBy & { userId: string },
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
              and(eq(formerMembers.orgId, organizationDomains.orgId), eq(formerMembers.userId, by.userId)),
            ),
        ),
      ),
    )
  if (!found) return
  const joined = await tx
    .insert(memberships)
    .values({ orgId: found.orgId, userId: by.userId, role: 'member', joinedBy: 'domain', joinedAt: clock() })
    .onConflictDoNothing()
    .returning({ orgId: memberships.orgId })
  if (joined.length === 0) return
  await recordAudit(tx, clock, by, {
    orgId: found.orgId,
    action: 'member.joined',
    subject: `through ${domain}`,
  })
}
