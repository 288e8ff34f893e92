import { ServiceError } from '../../contracts/errors.ts'
import type { ProviderRow } from './provider-rows.ts'
import { findSharedIssuer } from './shared-issuers.ts'

/** `isShared`: other organizations have proven that they use the issuer too. */
export function requireTenantRule(
  { issuer, tenantClaim }: Pick<ProviderRow, 'issuer' | 'tenantClaim'>,
  isShared = false,
): void {
  const shared = findSharedIssuer(issuer)
  if (!shared && !isShared) return
  if (tenantClaim !== '' && (shared?.claim ?? tenantClaim) === tenantClaim) return
  throw new ServiceError('CONFLICT', 'Several organizations share this issuer', {
    hint: `Add it with the claim that tells them apart, ${shared?.claim ?? 'such as tid'}, and your value of it.`,
  })
}
