import { eq } from '../../../db/drizzle.ts'
import { organizationIdentityProviders } from '../../../db/schema.ts'
import { write, type Verb } from '../verb.ts'
import { andEnded, endGrantsOf, lockProvider } from './provider-rows.ts'
import { removeOwnClients } from './remove-own-clients.ts'

/** Clients, rules, links, used assertions and refusals go with its row. */
export const deleteIdentityProvider: Verb<'deleteIdentityProvider'> = write(
  { author: 'admin', audit: 'identity_provider.removed' },
  async ({ tx, clock, orgId, audit }) => {
    const provider = await lockProvider(tx, orgId)
    const ended = await endGrantsOf(tx, clock, provider, 'provider_removed')
    await removeOwnClients(tx, orgId)
    await tx.delete(organizationIdentityProviders).where(eq(organizationIdentityProviders.id, provider.id))
    await audit('identity_provider.removed', andEnded(`${provider.name}: ${provider.issuer}`, ended))
    return {}
  },
)
