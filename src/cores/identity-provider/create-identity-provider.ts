/** Adds the identity provider of an organization, as a draft: nobody comes in by it before an owner has proven it. */
import { organizationIdentityProviders } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { IDENTITY_PROVIDER } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import type { ProviderDeps } from './dependencies.ts'
import { readProviderMetadata } from './provider-metadata.ts'
import { presentProvider } from './provider-rows.ts'
import { requireEnterpriseAuth } from './require-enterprise-auth.ts'
import { requireTenantRule } from './require-tenant-rule.ts'
import { throttleFetches } from './throttle-fetches.ts'

export const createIdentityProvider =
  (deps: ProviderDeps): Handler<'createIdentityProvider'> =>
  async (principal, { name, issuer, tenant_claim = '', tenant_value = '' }) => {
    const { db, clock } = deps
    const author = requireMember(principal)
    requireEnterpriseAuth(deps)
    requireTenantRule({ issuer, tenantClaim: tenant_claim })
    await throttleFetches(deps, author.orgId)
    const metadata = await readProviderMetadata(deps.guardedFetch, issuer)
    if ('problem' in metadata) {
      throw new ServiceError('INVALID_REQUEST', 'This issuer cannot be used', {
        problems: [`issuer: ${metadata.problem}`],
        hint: 'Enter it exactly as its metadata has it.',
      })
    }
    return withTransaction(db, async (tx) => {
      const member = await lockAuthor(tx, clock, author, 'admin')
      const now = clock()
      const [row] = await tx
        .insert(organizationIdentityProviders)
        .values({
          id: makeId('idp', now.getTime()),
          orgId: member.orgId,
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
      await recordAudit(tx, clock, member, {
        orgId: member.orgId,
        action: 'identity_provider.created',
        subject: `${name}: ${issuer}`,
      })
      return presentProvider({ ...deps, db: tx }, row)
    })
  }
