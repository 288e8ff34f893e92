/**
 * A client with a secret for the organization's own provider. It has nowhere to send anybody, so it can come with
 * assertions only; no other organization knows it, and it ends with its place on the list.
 */
import { identityProviderClients, platformOauthClients } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { clientSecretHash, makeClientSecret } from '../../trust/client-secret.ts'
import { write, type Verb } from '../verb.ts'
import { describeTerms, findClients, presentClients, requireCapacity, type Terms } from './allowed-clients.ts'
import type { ProviderDeps } from './dependencies.ts'
import { lockProvider } from './provider-rows.ts'
import { requireOwnerForSensitive } from './require-owner-for-sensitive.ts'

export const createIdentityProviderClient: Verb<'createIdentityProviderClient', ProviderDeps> = write(
  { author: 'admin', audit: 'identity_provider.client_created' },
  async (context, { name, max_scopes, resources }) => {
    const { tx, clock, member, orgId, issuer, mcpUrl, audit } = context
    requireOwnerForSensitive(member, max_scopes)
    const { id: providerId } = await lockProvider(tx, orgId)
    await requireCapacity(tx, providerId)
    const createdAt = clock()
    const clientId = makeId('idc', createdAt.getTime())
    const secret = makeClientSecret()
    const kind = 'pre_registered'
    const metadata = {
      client_name: name,
      // The library then takes the secret in the body of the request, too.
      token_endpoint_auth_method: 'client_secret_basic',
      client_secret: clientSecretHash(secret),
    }
    await tx.insert(platformOauthClients).values({ clientId, kind, orgId, metadata, createdAt })
    const terms: Terms = {
      mayBePublic: false,
      maxScopes: [...new Set(max_scopes)],
      resources: [...new Set(resources)],
    }
    await tx.insert(identityProviderClients).values({ providerId, clientId, kind, name, ...terms, createdAt })
    await audit('identity_provider.client_created', describeTerms(name, terms))
    const rows = await findClients(tx, providerId, { clientId })
    const [made] = await presentClients(context, providerId, rows)
    return {
      ...made!,
      secret,
      token_endpoint: `${issuer.origin}/oauth/token`,
      resource_urls: terms.resources.map((resource) => `${mcpUrl.origin}/${resource}`),
    }
  },
)
