/** A profile is seen in every organization of its user, so each has the change in its audit trail. */
import type { Transaction } from '../../../db/connect.ts'
import { eq } from '../../../db/drizzle.ts'
import { memberships } from '../../../db/schema.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import type { Clock } from '../dependencies.ts'

export async function recordProfileChange(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor & { userId: string },
  subject: string,
): Promise<void> {
  const orgs = await tx
    .select({ orgId: memberships.orgId })
    .from(memberships)
    .where(eq(memberships.userId, actor.userId))
  for (const { orgId } of orgs)
    await recordAudit(tx, clock, actor, { orgId, action: 'profile.changed', subject })
}
