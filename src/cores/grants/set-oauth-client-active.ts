/** The operator turns a client off, or on again, for the whole installation. */
import type { Transaction } from '../../../db/connect.ts'
import { eq } from '../../../db/drizzle.ts'
import { platformAccessGrants, platformOauthClients } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Storage } from '../dependencies.ts'
import { write, type Verb } from '../verb.ts'
import { isMetadataUrl } from './metadata-url.ts'

/** Turning off an unknown metadata URL inserts the row that blocks it; turning on never inserts one. */
export const setOauthClientActive: Verb<'setOauthClientActive'> = write(
  { by: 'principal', audit: ['client.switched_on', 'client.switched_off'] },
  async ({ tx, clock, audit }, { client_id, is_active }) => {
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
    for (const { orgId } of affected) await audit(action, client_id, orgId)
    return { client_id, is_active }
  },
)

async function insertBlock(tx: Transaction, clock: Storage['clock'], clientId: string): Promise<void> {
  await tx
    .insert(platformOauthClients)
    .values({ clientId, kind: 'metadata_document', isActive: false, createdAt: clock() })
    .onConflictDoUpdate({ target: platformOauthClients.clientId, set: { isActive: false } })
}
