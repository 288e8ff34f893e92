/** The operator turns a client off, or on again, for the whole installation. */
import type { Transaction } from '../../../db/connect.ts'
import { eq } from '../../../db/drizzle.ts'
import { platformAccessGrants, platformOauthClients } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { isMetadataUrl } from './metadata-url.ts'

/** Turning off an unknown metadata URL inserts the row that blocks it; turning on never inserts one. */
export const setOauthClientActive =
  ({ db, clock }: Storage): Handler<'setOauthClientActive'> =>
  (principal, { client_id, is_active }) =>
    withTransaction(db, async (tx) => {
      const [known] = await tx
        .update(platformOauthClients)
        .set({ isActive: is_active })
        .where(eq(platformOauthClients.clientId, client_id))
        .returning({ id: platformOauthClients.clientId })
      if (!known && (is_active || !isMetadataUrl(client_id))) throw notFound()
      if (!known) await insertBlock(tx, clock, client_id)
      // A row in every organization where the client has a grant: its agents stop, and somebody will ask why.
      const affected = await tx
        .selectDistinct({ orgId: platformAccessGrants.orgId })
        .from(platformAccessGrants)
        .where(eq(platformAccessGrants.clientId, client_id))
      const action = is_active ? 'client.switched_on' : 'client.switched_off'
      for (const { orgId } of affected) {
        await recordAudit(tx, clock, principal, { orgId, action, subject: client_id })
      }
      return { client_id, is_active }
    })

async function insertBlock(tx: Transaction, clock: Storage['clock'], clientId: string): Promise<void> {
  await tx
    .insert(platformOauthClients)
    .values({ clientId, kind: 'metadata_document', isActive: false, createdAt: clock() })
    .onConflictDoUpdate({ target: platformOauthClients.clientId, set: { isActive: false } })
}
