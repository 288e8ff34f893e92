/** The identity providers of this installation, in the order of their buttons. */
import { anyOpenIdProvider, type AnyOpenIdSettings } from './any-open-id.ts'
import { googleProvider, type GoogleSettings } from './google.ts'
import { microsoftProvider, type MicrosoftSettings } from './microsoft.ts'
import type { OpenIdOptions } from './open-id.ts'
import type { SignInProvider } from '../../cores/identity/sign-in-provider.ts'

export type SignInConfig = {
  google?: GoogleSettings
  microsoft?: MicrosoftSettings
  oidc?: AnyOpenIdSettings
}

export function createSignInProviders(
  { google, microsoft, oidc }: SignInConfig,
  options?: OpenIdOptions,
): SignInProvider[] {
  return [
    google && googleProvider(google, options),
    microsoft && microsoftProvider(microsoft, options),
    oidc && anyOpenIdProvider(oidc, options),
  ].filter((provider) => provider !== undefined)
}
