/** Sign-in with whatever OpenID provider the operator names. */
import type { IDToken, UserInfoResponse } from 'openid-client'
import { textOf } from './claims.ts'
import { openIdProvider, type Timing } from './open-id.ts'
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
  timing?: Timing,
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
    timing,
  )
}

async function anyPerson(
  claims: IDToken,
  askUserInfo: () => Promise<UserInfoResponse | undefined>,
): Promise<Omit<ProvenPerson, 'provider'>> {
  // OpenID Connect Core section 5.4 lets a provider keep these claims for the userinfo endpoint. Address and
  // verdict come from one and the same answer: a verdict about another address must not be borrowed.
  const told = claims.email === undefined ? ((await askUserInfo()) ?? claims) : claims
  const email = textOf(told.email)
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email,
    emailVerified: email !== null && told.email_verified === true,
    name: textOf(told.name) ?? textOf(claims.name),
  }
}
