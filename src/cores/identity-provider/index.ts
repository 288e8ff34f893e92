/** What the identity-provider core exports. */
export type { ClientDeps, KnownClient } from './allow-identity-provider-client.ts'
export type { ProviderDeps } from './dependencies.ts'
export { pauseProviderAgain } from './provider-rows.ts'
export { createProviderKeys, type ProviderKeys } from './provider-keys.ts'
export { exchangeAssertion, type ExchangeError } from './exchange/exchange-assertion.ts'
export { sweepAssertions } from './exchange/sweep-assertions.ts'
