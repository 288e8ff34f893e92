/** Adds the identity provider of an organization, as a draft: nobody comes in by it before an owner has proven it. */
import { organizationIdentityProviders } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { IDENTITY_PROVIDER } from '../../contracts/limits.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import type { ProviderDeps } from './dependencies.ts'
import { readProviderMetadata } from './provider-metadata.ts'
import { presentProvider } from './provider-rows.ts'
import { requireEnterpriseAuth } from './require-enterprise-auth.ts'
import { requireTenantRule } from './require-tenant-rule.ts'
import { throttleFetches } from './throttle-fetches.ts'

export const createIdentityProvider: Verb<'createIdentityProvider', ProviderDeps> = writeInSteps(
  { author: 'admin', audit: 'identity_provider.created' },
  async (context, { name, issuer, tenant_claim = '', tenant_value = '' }) => {
    const { clock, orgId, guardedFetch, transaction } = context
    requireEnterpriseAuth(context)
    requireTenantRule({ issuer, tenantClaim: tenant_claim })
    await throttleFetches(context, orgId)
    const metadata = await readProviderMetadata(guardedFetch, issuer)
    if ('problem' in metadata) {
      throw new ServiceError('INVALID_REQUEST', 'This issuer cannot be used', {
        problems: [`issuer: ${metadata.problem}`],
        hint: 'Enter it exactly as its metadata has it.',
      })
    }
    return transaction(async ({ tx, audit }) => {
      const now = clock()
      const [row] = await tx
        .insert(organizationIdentityProviders)
        .values({
          id: makeId('idp', now.getTime()),
          orgId,
          name,
          issuer,
          tenantClaim: tenant_claim,
          tenantValue: tenant_value,
          jwksUri: metadata.jwksUri,
          state: 'draft',
          defaultScopes: ['data:read', 'maintenance:read', 'notifications:read', 'notifications:write'],
          assertionSeconds: IDENTITY_PROVIDER.assertionSeconds.default,
          tokenMinutes: IDENTITY_PROVIDER.tokenMinutes.default,
          createdAt: now,
        })
        .onConflictDoNothing({ target: organizationIdentityProviders.orgId })
        .returning()
      if (!row) {
        throw new ServiceError('CONFLICT', 'The organization has an identity provider already', {
          hint: 'Remove it first: people who were linked by it would be somebody else by another one.',
        })
      }
      await audit('identity_provider.created', `${name}: ${issuer}`)
      return presentProvider({ ...context, db: tx }, row)
    })
  },
)
