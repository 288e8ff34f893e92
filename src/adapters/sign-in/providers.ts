/** The identity providers of this installation, in the order of their buttons. */
import { anyOpenIdProvider, type AnyOpenIdSettings } from './any-open-id.ts'
import { googleProvider, type GoogleSettings } from './google.ts'
import { microsoftProvider, type MicrosoftSettings } from './microsoft.ts'
import type { Timing } from './open-id.ts'
import type { SignInProvider } from '../../cores/identity/sign-in-provider.ts'

export type SignInConfig = {
  google?: GoogleSettings
  microsoft?: MicrosoftSettings
  oidc?: AnyOpenIdSettings
}

export function createSignInProviders(
  { google, microsoft, oidc }: SignInConfig,
  timing?: Timing,
): SignInProvider[] {
  return [
    google && googleProvider(google, timing),
    microsoft && microsoftProvider(microsoft, timing),
    oidc && anyOpenIdProvider(oidc, timing),
  ].filter((provider) => provider !== undefined)
}
