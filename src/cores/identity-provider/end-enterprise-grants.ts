import { write, type Verb } from '../verb.ts'
import { andEnded, endGrantsOf, lockProvider } from './provider-rows.ts'

/** They can come back with the next assertion: whoever wants to stop that pauses the provider or forbids the client. */
export const endEnterpriseGrants: Verb<'endEnterpriseGrants'> = write(
  { author: 'admin', audit: 'identity_provider.grants_ended' },
  async ({ tx, clock, orgId, audit }) => {
    const provider = await lockProvider(tx, orgId)
    const ended = await endGrantsOf(tx, clock, provider, 'revoked')
    if (ended > 0) await audit('identity_provider.grants_ended', andEnded(provider.name, ended))
    return { ended }
  },
)
