/** Revokes tokens of apps. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { and, isNull } from '../../../db/drizzle.ts'
import { appTokens } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { recordEnding } from '../record-ending.ts'

export async function revokeAppTokens(
  tx: Transaction,
  clock: Clock,
  which: SQL | undefined,
): Promise<readonly { orgId: string }[]> {
  const revoked = await tx
    .update(appTokens)
    .set({ revokedAt: clock() })
    .where(and(which, isNull(appTokens.revokedAt)))
    .returning({ id: appTokens.id, orgId: appTokens.orgId })
  recordEnding(tx, 'app_token', revoked)
  return revoked
}
