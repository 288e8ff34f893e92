/** Ends grants: the row is stamped, its refresh-token family is gone; in the transaction of the cause. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, inArray, isNull } from '../../../db/drizzle.ts'
import { oauthArtifacts, platformAccessGrants } from '../../../db/schema.ts'
import type { GrantEndReason } from '../../contracts/grants.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import type { Clock } from '../dependencies.ts'
import { recordEnding } from '../record-ending.ts'

/** Time alone stamps no row. Rotated keys do where another grant takes its place. */
export type EndReason = Exclude<GrantEndReason, 'expired'>

/** One of them, with the row of the audit trail that says why. False when it was ended before. */
export async function endGrant(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  grantId: string,
  reason: EndReason,
): Promise<boolean> {
  const [row] = await endGrants(tx, clock, eq(platformAccessGrants.id, grantId), reason)
  if (!row) return false
  await recordAudit(tx, clock, actor, {
    orgId: row.orgId,
    action: reason === 'reuse_detected' ? 'grant.reused' : 'grant.revoked',
    subject: row.clientName ?? row.clientId,
  })
  return true
}

/** The subject of the audit row of what ended them. */
export const andEnded = (subject: string, ended: number): string =>
  ended === 0 ? subject : `${subject}; ${ended === 1 ? '1 agent' : `${ended} agents`} disconnected`

/** Those that were live until now. The caller writes the audit row. */
export async function endGrants(
  tx: Transaction,
  clock: Clock,
  which: SQL | undefined,
  reason: EndReason,
): Promise<readonly (typeof platformAccessGrants.$inferSelect)[]> {
  const rows = await tx
    .update(platformAccessGrants)
    .set({ revokedAt: clock(), revokedReason: reason })
    .where(and(which, isNull(platformAccessGrants.revokedAt)))
    .returning()
  recordEnding(
    tx,
    'grant',
    rows.map(({ id, orgId }) => ({ id, orgId, to: { reason } })),
  )
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await tx.delete(oauthArtifacts).where(inArray(oauthArtifacts.grantId, ids))
  return rows
}
