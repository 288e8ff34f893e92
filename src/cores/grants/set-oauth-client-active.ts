/** The operator turns a client off, or on again, for the whole installation. */
import type { Transaction } from '../../../db/connect.ts'
import { eq } from '../../../db/drizzle.ts'
import { platformAccessGrants, platformOauthClients } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Clock } from '../dependencies.ts'
import { recordNarrowing, recordWidening } from '../right-versions.ts'
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
    const right = { id: client_id, orgId: null }
    await (is_active
      ? recordWidening(tx, 'client_activity', right)
      : recordNarrowing(tx, 'client_activity', right))
    // A row in every organization where the client has a grant: its agents stop, and somebody will ask why.
    const action = is_active ? 'client.switched_on' : 'client.switched_off'
    for (const { orgId } of await readOrganizationsOf(tx, client_id))
      await audit(action, client_id, { orgId })
    return { client_id, is_active }
  },
)

const readOrganizationsOf = (tx: Transaction, clientId: string) =>
  tx
    .selectDistinct({ orgId: platformAccessGrants.orgId })
    .from(platformAccessGrants)
    .where(eq(platformAccessGrants.clientId, clientId))

/** After a lost tail. Returns the organizations where its agents stop. */
export async function switchOffAgain(
  tx: Transaction,
  clock: Clock,
  clientId: string,
): Promise<readonly { orgId: string }[]> {
  const isIt = eq(platformOauthClients.clientId, clientId)
  const [known] = await tx.select().from(platformOauthClients).where(isIt).for('update')
  if (known ? !known.isActive : !isMetadataUrl(clientId)) return []
  if (known) await tx.update(platformOauthClients).set({ isActive: false }).where(isIt)
  else await insertBlock(tx, clock, clientId)
  return readOrganizationsOf(tx, clientId)
}

async function insertBlock(tx: Transaction, clock: Clock, clientId: string): Promise<void> {
  await tx
    .insert(platformOauthClients)
    .values({ clientId, kind: 'metadata_document', isActive: false, createdAt: clock() })
    .onConflictDoUpdate({ target: platformOauthClients.clientId, set: { isActive: false } })
}
