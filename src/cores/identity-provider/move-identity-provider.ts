/** The operator takes an identity provider from the organization that has it on, so that another one can prove it. */
import { and, eq } from '../../../db/drizzle.ts'
import { organizationIdentityProviders as providers } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { endProof } from '../organizations/index.ts'
import { write, type Verb } from '../verb.ts'
import { andEnded } from './provider-rows.ts'

export const moveIdentityProvider: Verb<'moveIdentityProvider'> = write(
  { by: 'principal', audit: 'identity_provider.moved' },
  async ({ tx, clock, audit }, { issuer, tenant_value = '' }) => {
    const [provider] = await tx
      .select()
      .from(providers)
      .where(
        and(eq(providers.issuer, issuer), eq(providers.tenantValue, tenant_value), eq(providers.state, 'on')),
      )
      .for('update')
    if (!provider) {
      throw new ServiceError('NOT_FOUND', 'No organization has this issuer and tenant on')
    }
    const ended = await endProof(tx, clock, provider.id)
    await audit('identity_provider.moved', andEnded(`${provider.name}: ${issuer}`, ended), {
      orgId: provider.orgId,
    })
    return {
      org_id: provider.orgId,
      issuer,
      tenant_value: tenant_value || null,
      ended_grants: ended,
    }
  },
)
