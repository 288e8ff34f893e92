/** Sign-in with Google. */
import type { IDToken } from 'openid-client'
import { openIdProvider, textOf, type OpenIdOptions } from './open-id.ts'
import type { ProvenPerson, SignInProvider } from '../../cores/identity/sign-in-provider.ts'

export type GoogleSettings = { clientId: string; clientSecret: string; authority?: string }

export function googleProvider(
  { clientId, clientSecret, authority = 'https://accounts.google.com' }: GoogleSettings,
  options?: OpenIdOptions,
): SignInProvider {
  return openIdProvider(
    {
      name: 'google',
      title: 'Google',
      issuer: new URL(authority),
      clientId,
      clientSecret,
      scopes: ['openid', 'email', 'profile'],
      personFrom: googlePerson,
    },
    options,
  )
}

export function googlePerson(claims: IDToken): Omit<ProvenPerson, 'provider'> {
  const email = textOf(claims.email)
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email,
    emailVerified: claims.email_verified === true && email !== null && isHostedByGoogle(email, claims.hd),
    name: textOf(claims.name),
  }
}

/**
 * Anybody may create a Google account with an address hosted elsewhere. Google then reports `email_verified` for
 * ever, although it checked once: somebody who left acme.example years ago would still join Acme by domain. Google
 * controls an address only if it is Gmail's or if a Workspace (`hd`) owns the account.
 */
function isHostedByGoogle(email: string, hostedDomain: unknown): boolean {
  return textOf(hostedDomain) !== null || /@(gmail|googlemail)\.com$/i.test(email)
}
