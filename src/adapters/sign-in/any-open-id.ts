/** Sign-in with any OpenID provider that the operator configures. */
import type { IDToken, UserInfoResponse } from 'openid-client'
import { openIdProvider, textOf, type OpenIdOptions } from './open-id.ts'
import type { ProvenPerson, SignInProvider } from '../../cores/identity/sign-in-provider.ts'

export type AnyOpenIdSettings = {
  issuer: string
  clientId: string
  clientSecret: string
  title: string
  scopes?: readonly string[]
}

export function anyOpenIdProvider(
  { issuer, clientId, clientSecret, title, scopes = ['email', 'profile'] }: AnyOpenIdSettings,
  options?: OpenIdOptions,
): SignInProvider {
  return openIdProvider(
    {
      name: 'oidc',
      title,
      issuer: new URL(issuer),
      clientId,
      clientSecret,
      scopes: [...new Set(['openid', ...scopes])],
      personFrom: anyPerson,
    },
    options,
  )
}

async function anyPerson(
  claims: IDToken,
  askUserInfo: () => Promise<UserInfoResponse | undefined>,
): Promise<Omit<ProvenPerson, 'provider'>> {
  // OpenID Connect Core section 5.4: a provider may return these claims from the userinfo endpoint only. Address and
  // `email_verified` come from the same answer: it must not apply to another address.
  const source = claims.email === undefined ? ((await askUserInfo()) ?? claims) : claims
  const email = textOf(source.email)
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email,
    emailVerified: email !== null && source.email_verified === true,
    name: textOf(source.name) ?? textOf(claims.name),
  }
}
