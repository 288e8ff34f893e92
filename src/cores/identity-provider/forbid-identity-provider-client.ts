import { and, eq } from '../../../db/drizzle.ts'
import { identityProviderClients as clients, platformAccessGrants } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { write, type Verb } from '../verb.ts'
import { andEnded, endGrantsOf, lockProvider } from './provider-rows.ts'
import { removeOwnClients } from './remove-own-clients.ts'

/** Its agents that their people approved themselves go on: to end those too, the client is blocked. */
export const forbidIdentityProviderClient: Verb<'forbidIdentityProviderClient'> = write(
  { author: 'admin', audit: 'identity_provider.client_forbidden' },
  async ({ tx, clock, orgId, audit }, { client_id }) => {
    const provider = await lockProvider(tx, orgId)
    const [forbidden] = await tx
      .delete(clients)
      .where(and(eq(clients.providerId, provider.id), eq(clients.clientId, client_id)))
      .returning()
    if (!forbidden) throw notFound()
    const ofClient = eq(platformAccessGrants.clientId, client_id)
    await removeOwnClients(tx, orgId, client_id)
    const ended = await endGrantsOf(tx, clock, provider, 'client_forbidden', ofClient)
    await audit('identity_provider.client_forbidden', andEnded(forbidden.name ?? client_id, ended))
    return {}
  },
)
