/** Ends the API tokens and grants of a user in all organizations. */
import type { Transaction } from '../../../db/connect.ts'
import { endByCause } from '../credentials/index.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import type { Clock } from '../dependencies.ts'

export async function endCredentials(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor & { userId: string },
): Promise<void> {
  const { tokens, grants } = await endByCause(tx, clock, { cause: 'password_reset', userId: actor.userId })
  for (const { orgId, name, startsWith } of tokens) {
    const subject = `${name} (${startsWith}…)`
    await recordAudit(tx, clock, actor, { orgId, action: 'token.revoked', subject })
  }
  for (const { orgId, clientName, clientId } of grants) {
    await recordAudit(tx, clock, actor, { orgId, action: 'grant.revoked', subject: clientName ?? clientId })
  }
}
