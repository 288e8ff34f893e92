/** What the identity-provider core exports. */
export { activateIdentityProvider } from './activate-identity-provider.ts'
export {
  allowIdentityProviderClient,
  type ClientDeps,
  type KnownClient,
} from './allow-identity-provider-client.ts'
export { createIdentityProvider } from './create-identity-provider.ts'
export { createIdentityProviderClient } from './create-identity-provider-client.ts'
export { deleteIdentityProvider } from './delete-identity-provider.ts'
export type { ProviderDeps } from './dependencies.ts'
export { endEnterpriseGrants } from './end-enterprise-grants.ts'
export { forbidIdentityProviderClient } from './forbid-identity-provider-client.ts'
export { linkIdentity } from './link-identity.ts'
export { listIdentityLinks } from './list-identity-links.ts'
export { listIdentityProviderClients } from './list-identity-provider-clients.ts'
export { listIdentityProviderRules } from './list-identity-provider-rules.ts'
export { listRefusals } from './list-refusals.ts'
export { moveIdentityProvider } from './move-identity-provider.ts'
export { previewIdentityProviderRules } from './preview-identity-provider-rules.ts'
export { probeIdentityProvider } from './probe-identity-provider.ts'
export { createProviderKeys, type ProviderKeys } from './provider-keys.ts'
export { setIdentityProviderRules } from './set-identity-provider-rules.ts'
export { showIdentityProvider } from './show-identity-provider.ts'
export { unlinkIdentity } from './unlink-identity.ts'
export { updateIdentityProvider } from './update-identity-provider.ts'
export { exchangeAssertion, type ExchangeError } from './exchange/exchange-assertion.ts'
export { sweepAssertions } from './exchange/sweep-assertions.ts'
