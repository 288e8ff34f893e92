/** The settings of sign-in: identity providers, and where people sign in. */
import type { createSignInProviders } from '../adapters/sign-in/providers.ts'
import type { Config } from './config.ts'

export const signInUrlOf = (config: Config): URL =>
  config.AUTH_LOGIN_URL ?? new URL('/auth/sign-in', config.REDIRECT_BASE_URL ?? config.APP_URL)

const hasIdentityProvider = (config: Config): boolean =>
  [config.GOOGLE_CLIENT_ID, config.MICROSOFT_CLIENT_ID, config.OIDC_CLIENT_ID].some((id) => id !== undefined)

export const allowsPasswords = (config: Config): boolean =>
  config.PASSWORD_SIGN_IN ?? !hasIdentityProvider(config)

export function providerSettings(config: Config): Parameters<typeof createSignInProviders>[0] {
  const { GOOGLE_CLIENT_ID, GOOGLE_CLIENT_SECRET, GOOGLE_AUTHORITY } = config
  const { MICROSOFT_CLIENT_ID, MICROSOFT_CLIENT_SECRET, MICROSOFT_TENANT_ID, MICROSOFT_AUTHORITY } = config
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_TITLE } = config
  return {
    ...(GOOGLE_CLIENT_ID && GOOGLE_CLIENT_SECRET
      ? {
          google: {
            clientId: GOOGLE_CLIENT_ID,
            clientSecret: GOOGLE_CLIENT_SECRET,
            ...authority(GOOGLE_AUTHORITY),
          },
        }
      : {}),
    ...(MICROSOFT_CLIENT_ID && MICROSOFT_CLIENT_SECRET && MICROSOFT_TENANT_ID
      ? {
          microsoft: {
            clientId: MICROSOFT_CLIENT_ID,
            clientSecret: MICROSOFT_CLIENT_SECRET,
            tenantId: MICROSOFT_TENANT_ID,
            ...authority(MICROSOFT_AUTHORITY),
          },
        }
      : {}),
    ...(OIDC_ISSUER && OIDC_CLIENT_ID && OIDC_CLIENT_SECRET
      ? {
          oidc: {
            issuer: OIDC_ISSUER.href,
            clientId: OIDC_CLIENT_ID,
            clientSecret: OIDC_CLIENT_SECRET,
            title: OIDC_TITLE,
          },
        }
      : {}),
  }
}

const authority = (url: URL | undefined) => (url ? { authority: url.href } : {})
