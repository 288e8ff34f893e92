/** Whether something that was made with one token was made with another, or with a token below that. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { apiTokens } from '../../../db/schema.ts'

export async function isMadeWith(
  tx: Transaction,
  orgId: string,
  madeWith: string | null,
  tokenId: string,
): Promise<boolean> {
  for (let above = madeWith; above !== null;) {
    if (above === tokenId) return true
    const [parent] = await tx
      .select({ id: apiTokens.parentId })
      .from(apiTokens)
      .where(and(eq(apiTokens.orgId, orgId), eq(apiTokens.id, above)))
    above = parent?.id ?? null
  }
  return false
}
