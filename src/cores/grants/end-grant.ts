/** Ends a grant: the row is stamped, its refresh-token family is gone, the audit trail says why; one transaction. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { oauthArtifacts, platformAccessGrants } from '../../../db/schema.ts'
import { recordAudit, type AuditActor } from '../audit/index.ts'
import type { Clock } from '../dependencies.ts'

export type EndReason = 'disconnected' | 'revoked' | 'token_revoked' | 'reuse_detected'

/** False when it was ended before. */
export async function endGrant(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  grantId: string,
  reason: EndReason,
): Promise<boolean> {
  const [row] = await tx
    .update(platformAccessGrants)
    .set({ revokedAt: clock(), revokedReason: reason })
    .where(and(eq(platformAccessGrants.id, grantId), isNull(platformAccessGrants.revokedAt)))
    .returning()
  if (!row) return false
  await tx.delete(oauthArtifacts).where(eq(oauthArtifacts.grantId, grantId))
  await recordAudit(tx, clock, actor, {
    orgId: row.orgId,
    action: reason === 'reuse_detected' ? 'grant.reused' : 'grant.revoked',
    subject: row.clientName ?? row.clientId,
  })
  return true
}
