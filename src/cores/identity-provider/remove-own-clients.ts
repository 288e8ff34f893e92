import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { platformOauthClients } from '../../../db/schema.ts'

/** Those that the organization made for its provider, or one of them: off the list they are nobody's. */
export async function removeOwnClients(tx: Transaction, orgId: string, clientId?: string): Promise<void> {
  await tx
    .delete(platformOauthClients)
    .where(
      and(
        eq(platformOauthClients.orgId, orgId),
        clientId === undefined ? undefined : eq(platformOauthClients.clientId, clientId),
      ),
    )
}
