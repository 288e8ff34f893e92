/** The operator takes an identity provider from the organization that has it on, so that another one can prove it. */
import { and, eq } from '../../../db/drizzle.ts'
import { organizationIdentityProviders as providers } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import { endProof } from '../organizations/index.ts'
import { withTransaction } from '../transaction.ts'
import { andEnded } from './provider-rows.ts'

export const moveIdentityProvider =
  ({ db, clock }: Storage): Handler<'moveIdentityProvider'> =>
  (principal, { issuer, tenant_value = '' }) =>
    withTransaction(db, async (tx) => {
      const [provider] = await tx
        .select()
        .from(providers)
        .where(
          and(
            eq(providers.issuer, issuer),
            eq(providers.tenantValue, tenant_value),
            eq(providers.state, 'on'),
          ),
        )
        .for('update')
      if (!provider) {
        throw new ServiceError('NOT_FOUND', 'No organization has this issuer and tenant on')
      }
      const ended = await endProof(tx, clock, provider.id)
      await recordAudit(tx, clock, principal, {
        orgId: provider.orgId,
        action: 'identity_provider.moved',
        subject: andEnded(`${provider.name}: ${issuer}`, ended),
      })
      return {
        org_id: provider.orgId,
        issuer,
        tenant_value: tenant_value || null,
        ended_grants: ended,
      }
    })
