import { eq } from '../../../db/drizzle.ts'
import { organizationIdentityProviders } from '../../../db/schema.ts'
import { RESOURCES } from '../../contracts/scopes.ts'
import { presentSignInProvider } from '../scim/index.ts'
import { read, type Verb } from '../verb.ts'
import type { ProviderDeps } from './dependencies.ts'
import { presentProvider } from './provider-rows.ts'

export const showIdentityProvider: Verb<'showIdentityProvider', ProviderDeps> = read(async (context) => {
  const { db, orgId, enterpriseAuth, issuer, mcpUrl, passwordSignIn, providers } = context
  const [row] = await db
    .select()
    .from(organizationIdentityProviders)
    .where(eq(organizationIdentityProviders.orgId, orgId))
  return {
    is_enabled: enterpriseAuth,
    audience: issuer.origin,
    resources: RESOURCES.map((resource) => ({ resource, url: `${mcpUrl.origin}/${resource}` })),
    identity_provider: row ? await presentProvider(context, row) : null,
    sign_in: { password: passwordSignIn, providers: providers.map(presentSignInProvider) },
  }
})
