/**
 * The checks of an identity assertion (ID-JAG, draft-ietf-oauth-identity-assertion-authz-grant), in their order. What it
 * says is read first, because its issuer selects whom to trust; nothing of it counts before its signature was verified.
 */
import { Email } from '../../contracts/fields.ts'
import { isSubject, type RefusalReason } from '../../contracts/identity-provider-states.ts'
import { readUtf8JsonObject } from '../../contracts/read-json.ts'
import { isAlgorithm, verifySignature, type Algorithm } from '../../trust/signature.ts'
import type { ProviderKeys } from './provider-keys.ts'

export type Refused = { readonly reason: RefusalReason }

type Claims = Readonly<Record<string, unknown>>

/** What an assertion says of itself. Unverified. */
export type UnverifiedAssertion = {
  readonly algorithm: Algorithm
  readonly keyId: string | undefined
  readonly issuer: string
  readonly subject: string
  readonly claims: Claims
  readonly signed: string
  readonly signature: Uint8Array
}

/** A verified one. */
export type Assertion = {
  readonly subject: string
  readonly jti: string
  readonly expiresAt: Date
  /** Undefined: it does not say. */
  readonly scopes: readonly string[] | undefined
  readonly resource: string | undefined
  /** The id of a user here, as the provider believes it. */
  readonly userId: string | undefined
  /** Not one that the provider calls unverified. Whether it counts as verified, `vouchedEmail` says. */
  readonly email: { readonly address: string; readonly isVerified: boolean } | undefined
  readonly name: string | undefined
  /** All of them, for the rules. */
  readonly claims: Claims
}

/** The row that makes it trusted, as far as the checks need it. */
export type Trust = {
  readonly orgId: string
  readonly orgSlug: string
  readonly issuer: string
  readonly tenantClaim: string
  readonly tenantValue: string
  readonly jwksUri: string
  readonly assertionSeconds: number
}

/** MCP enterprise-managed authorization sets no limit; what providers send has 1 to 3 KB. */
const ASSERTION_MAX_BYTES = 8 * 1024
const TYPE = 'oauth-id-jag+jwt'
/** Clocks of others. */
export const SKEW_SECONDS = 60
const TEXT_MAX = 1024
/** RFC 7515, 3.1: three parts. Five would be encrypted. */
const COMPACT = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/

export const isRefused = (value: object): value is Refused => 'reason' in value

/** Header and claims. Keys in the header (jwk, jku, x5u, x5c) are never looked at. */
export function readAssertion(text: string): UnverifiedAssertion | Refused {
  const parts = text.length > ASSERTION_MAX_BYTES ? null : COMPACT.exec(text)
  const [header, claims] = [1, 2].map((at) => readUtf8JsonObject(Buffer.from(parts?.[at] ?? '', 'base64url')))
  if (!parts || !header || !claims) return { reason: 'malformed' }
  if (typeof header.typ !== 'string' || !isType(header.typ)) return { reason: 'type' }
  if (!isAlgorithm(header.alg)) return { reason: 'algorithm' }
  // RFC 7515, 4.1.11: what must be understood and is not. `b64` would change what is signed (RFC 7797).
  if ('crit' in header || 'b64' in header) return { reason: 'malformed' }
  const { kid } = header
  const { iss, sub } = claims
  if ((kid !== undefined && !isText(kid)) || !isText(iss) || !isText(sub)) return { reason: 'claims' }
  return {
    algorithm: header.alg,
    keyId: kid,
    issuer: iss,
    subject: sub,
    claims,
    signed: `${parts[1]}.${parts[2]}`,
    signature: Buffer.from(parts[3]!, 'base64url'),
  }
}

/** The tenant that it names, for an issuer that several share. */
export const tenantIn = (claims: Claims, tenantClaim: string): unknown =>
  Object.hasOwn(claims, tenantClaim) ? claims[tenantClaim] : undefined

export async function verifyAssertion(
  assertion: UnverifiedAssertion,
  trust: Trust,
  {
    keys,
    audience,
    clientId,
    checkClient,
    now,
  }: {
    readonly keys: Pick<ProviderKeys, 'find'>
    readonly audience: string
    /** Undefined: whichever it names, where nobody presents it (a proof, a dry run). */
    readonly clientId: string | undefined
    /** Whether the organization lets this client come in so. */
    readonly checkClient?: (clientId: string) => Refused | undefined
    readonly now: Date
  },
): Promise<Assertion | Refused> {
  const { claims } = assertion
  const found = await keys.find(trust.jwksUri, assertion)
  if (found.length === 0) return { reason: 'key' }
  if (!found.some((key) => verifySignature(assertion, key))) return { reason: 'signature' }
  return (
    problemWithAddressee(claims, trust, audience) ??
    problemWithTimes(claims, trust, now) ??
    problemWithTenant(claims, trust) ??
    problemWithClient(claims, clientId, checkClient) ??
    readClaims(assertion)
  )
}

/** JAG 4.4.1: byte for byte, and no other audience beside it. The issuer was looked up; here it cannot differ. */
function problemWithAddressee({ iss, aud }: Claims, trust: Trust, audience: string): Refused | undefined {
  if (iss !== trust.issuer) return { reason: 'issuer' }
  const isForUs = aud === audience || (Array.isArray(aud) && aud.length === 1 && aud[0] === audience)
  return isForUs ? undefined : { reason: 'audience' }
}

function problemWithTimes({ iat, exp, nbf }: Claims, trust: Trust, now: Date): Refused | undefined {
  const seconds = now.getTime() / 1000
  if (typeof iat !== 'number' || typeof exp !== 'number') return { reason: 'claims' }
  if (nbf !== undefined && typeof nbf !== 'number') return { reason: 'claims' }
  if (exp <= seconds - SKEW_SECONDS) return { reason: 'expired' }
  if (Math.max(iat, nbf ?? iat) > seconds + SKEW_SECONDS) return { reason: 'not_yet_valid' }
  return exp > iat && exp - iat <= trust.assertionSeconds ? undefined : { reason: 'lifetime' }
}

function problemWithTenant(claims: Claims, trust: Trust): Refused | undefined {
  const { tenantClaim, tenantValue, orgId, orgSlug } = trust
  // Of an issuer with tenants a subject alone is nobody: without a rule it could be anybody's of that name.
  const isOfTenant =
    tenantClaim === '' ? claims.tenant === undefined : tenantIn(claims, tenantClaim) === tenantValue
  if (!isOfTenant) return { reason: 'tenant' }
  const ours = claims.aud_tenant
  return ours === undefined || ours === orgId || ours === orgSlug ? undefined : { reason: 'audience_tenant' }
}

function problemWithClient(
  claims: Claims,
  clientId: string | undefined,
  checkClient: ((clientId: string) => Refused | undefined) | undefined,
): Refused | undefined {
  if (!isText(claims.client_id) || (clientId !== undefined && claims.client_id !== clientId)) {
    return { reason: 'client' }
  }
  const refused = checkClient?.(claims.client_id)
  if (refused) return refused
  // JAG 4.4.1: without a proof that the client has the key, it must be refused; we take no such proofs (DPoP).
  if (claims.cnf !== undefined) return { reason: 'proof_of_possession' }
  // RFC 9396: narrower than scopes can say, so without it they would say too much.
  return claims.authorization_details === undefined ? undefined : { reason: 'claims' }
}

function readClaims({ subject, claims }: UnverifiedAssertion): Assertion | Refused {
  const { jti, exp, scope, resource, aud_sub, email, email_verified, name } = claims
  if (!isText(jti) || !isSubject(subject)) return { reason: 'claims' }
  if (scope !== undefined && typeof scope !== 'string') return { reason: 'claims' }
  if (aud_sub !== undefined && !isText(aud_sub)) return { reason: 'claims' }
  const resources = resource === undefined ? [] : [resource].flat()
  if (resources.length > 1 || !resources.every(isText)) return { reason: 'resource' }
  // An empty list names no endpoint, which is not the same as not saying.
  if (Array.isArray(resource) && resource.length === 0) return { reason: 'resource' }
  return {
    subject,
    jti,
    expiresAt: new Date(Number(exp) * 1000),
    scopes: scope?.split(' ').filter(Boolean),
    resource: resources[0],
    userId: aud_sub,
    email: readEmail(email, email_verified),
    name: isText(name) ? name : undefined,
    claims,
  }
}

/** ID-JAG does not define `email_verified`, and some providers leave it out. Whatever else it is, it is no yes. */
function readEmail(email: unknown, verdict: unknown): Assertion['email'] {
  const address = verdict === true || verdict === undefined ? addressIn(email) : undefined
  return address === undefined ? undefined : { address, isVerified: verdict === true }
}

/**
 * As addresses are stored here, if it differs from that in case alone: one with a space, or with a letter that becomes an
 * ASCII one in lower case, would be looked up as one address and stored as another.
 */
function addressIn(email: unknown): string | undefined {
  if (!isText(email) || !/^[\x21-\x7e]+$/.test(email)) return undefined
  const address = Email.safeParse(email)
  return address.success && address.data === email.toLowerCase() ? address.data : undefined
}

/** What can be stored and compared: Postgres has neither NUL nor lone surrogates. */
const isText = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= TEXT_MAX &&
  !value.includes('\0') &&
  value.isWellFormed()

/** RFC 7515, 4.1.9: with or without `application/`, in any case. */
const isType = (typ: string): boolean => typ.toLowerCase().replace(/^application\//, '') === TYPE
