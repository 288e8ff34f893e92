/** Sign-in with Microsoft Entra: one tenant, all organizations, private accounts, or everybody. */
import type { IDToken } from 'openid-client'
import { SignInRefused } from '../../contracts/sign-in-errors.ts'
import { openIdProvider, textOf, type OpenIdOptions } from './open-id.ts'
import type { ProvenPerson, SignInProvider } from '../../cores/identity/sign-in-provider.ts'

export type MicrosoftSettings = {
  clientId: string
  clientSecret: string
  /** A tenant's UUID, `common`, `organizations` or `consumers`. */
  tenantId: string
  authority?: string
}

const MICROSOFT = 'https://login.microsoftonline.com'
/** The tenant of all private Microsoft accounts. */
const PRIVATE_ACCOUNTS = '9188040d-6c67-4c5b-b112-36a304b66dad'
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function microsoftProvider(
  { clientId, clientSecret, tenantId, authority = MICROSOFT }: MicrosoftSettings,
  options?: OpenIdOptions,
): SignInProvider {
  const tenant = tenantId.toLowerCase()
  const { origin } = new URL(authority)
  return openIdProvider(
    {
      name: 'microsoft',
      title: 'Microsoft',
      // The library supports the `{tenantid}` in Microsoft's issuer for Microsoft's own host only, so it gets that
      // issuer, and the discovery request is redirected to the configured authority.
      issuer: new URL(`${MICROSOFT}/${tenant}/v2.0`),
      issuerOf: (asked) => {
        const tid = asked ?? tenant
        return UUID.test(tid) && admits(tenant, tid) ? `${origin}/${tid}/v2.0` : undefined
      },
      discoveryOrigin: new URL(origin),
      clientId,
      clientSecret,
      scopes: ['openid', 'profile', 'email'],
      personFrom: (claims) => microsoftPerson(claims, { tenant, origin }),
    },
    options,
  )
}

export function microsoftPerson(
  claims: IDToken,
  { tenant, origin }: { tenant: string; origin: string },
): Omit<ProvenPerson, 'provider'> {
  const { tid, oid } = claims
  if (typeof tid !== 'string' || !UUID.test(tid)) throw new SignInRefused('tid missing or malformed')
  if (typeof oid !== 'string' || !UUID.test(oid)) throw new SignInRefused('oid missing or malformed')
  if (!admits(tenant, tid)) throw new SignInRefused('tid of a tenant that is not allowed')
  // A tenant controls the claims in its own tokens, so a token counts only for the tenant that issued it.
  if (claims.iss !== `${origin}/${tid}/v2.0`) throw new SignInRefused('iss and tid name different tenants')
  return { issuer: claims.iss, subject: oid, name: textOf(claims.name), ...emailOf(claims) }
}

function admits(tenant: string, tid: string): boolean {
  switch (tenant) {
    case 'common':
      return true
    case 'organizations':
      return tid !== PRIVATE_ACCOUNTS
    case 'consumers':
      return tid === PRIVATE_ACCOUNTS
    default:
      return tid === tenant
  }
}

/**
 * The administrator of any tenant can set the `email` claim to anybody's address ("nOAuth"), and
 * `preferred_username` is a label. Only what Microsoft verified against the tenant's own domains counts: the
 * optional claims `verified_primary_email`, or `xms_edov` (email domain owner verified) beside `email`.
 */
function emailOf(claims: IDToken): { email: string | null; emailVerified: boolean } {
  const primary = textOf(
    Array.isArray(claims.verified_primary_email) ? claims.verified_primary_email[0] : null,
  )
  if (primary !== null) return { email: primary, emailVerified: true }
  const email = textOf(claims.email)
  return { email, emailVerified: email !== null && isTrue(claims.xms_edov) }
}

/** Entra sends this claim as true, 1 or "1", depending on the kind of account. */
function isTrue(claim: unknown): boolean {
  return claim === true || claim === 1 || claim === '1' || claim === 'true'
}
