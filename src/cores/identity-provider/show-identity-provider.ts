import { eq } from '../../../db/drizzle.ts'
import { organizationIdentityProviders } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { RESOURCES } from '../../contracts/scopes.ts'
import { requireMember } from '../principal.ts'
import type { ProviderDeps } from './dependencies.ts'
import { presentProvider } from './provider-rows.ts'

export const showIdentityProvider =
  (deps: ProviderDeps): Handler<'showIdentityProvider'> =>
  async (principal) => {
    const { orgId } = requireMember(principal)
    const [row] = await deps.db
      .select()
      .from(organizationIdentityProviders)
      .where(eq(organizationIdentityProviders.orgId, orgId))
    return {
      is_enabled: deps.enterpriseAuth,
      audience: deps.issuer.origin,
      resources: RESOURCES.map((resource) => ({ resource, url: `${deps.mcpUrl.origin}/${resource}` })),
      identity_provider: row ? await presentProvider(deps, row) : null,
    }
  }
