/** Whether an organization may turn on an issuer and tenant: an assertion must lead to one organization alone. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, isNotNull, ne, sql } from '../../../db/drizzle.ts'
import { organizationIdentityProviders as providers } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { ProviderRow } from './provider-rows.ts'
import { requireTenantRule } from './require-tenant-rule.ts'

/**
 * Drafts of others count for nothing: they are unproven, and would let anybody keep the owner of an issuer out.
 * Whose it is stays untold.
 */
export async function claimIssuer(tx: Transaction, provider: ProviderRow): Promise<void> {
  const { issuer, tenantClaim, tenantValue } = provider
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`issuer ${issuer}`}, 0))`)
  const others = await tx
    .select()
    .from(providers)
    .where(and(eq(providers.issuer, issuer), ne(providers.id, provider.id), isNotNull(providers.provenAt)))
  // Without a tenant, or with one under another claim, an assertion of theirs could be one of ours too.
  const isTaken = others.some(
    (other) =>
      other.state === 'on' &&
      (other.tenantClaim === '' || other.tenantClaim !== tenantClaim || other.tenantValue === tenantValue),
  )
  if (others.length > 0) requireTenantRule(provider, true)
  if (!isTaken) return
  throw new ServiceError('CONFLICT', 'Another organization uses this issuer', {
    hint: 'If it is yours, ask the operator to move it.',
  })
}
