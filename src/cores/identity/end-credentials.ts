/** Ends the API tokens and grants of a user in all organizations. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { apiTokens, platformAccessGrants } from '../../../db/schema.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import type { Clock } from '../dependencies.ts'
import { endGrant } from '../grants/index.ts'
import { revokeApiTokens } from '../api-tokens/index.ts'

export async function endCredentials(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor & { userId: string },
): Promise<void> {
  const tokens = await revokeApiTokens(tx, clock, eq(apiTokens.userId, actor.userId))
  for (const { orgId, name, startsWith } of tokens) {
    const subject = `${name} (${startsWith}…)`
    await recordAudit(tx, clock, actor, { orgId, action: 'token.revoked', subject })
  }
  const grants = await tx
    .select({ id: platformAccessGrants.id })
    .from(platformAccessGrants)
    .where(and(eq(platformAccessGrants.userId, actor.userId), isNull(platformAccessGrants.revokedAt)))
  for (const { id } of grants) await endGrant(tx, clock, actor, id, 'revoked')
}
