/** JWTs of one type under one HS256 key: only this type, issuer, audience and algorithm are accepted. */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { readJwtPart } from './read-jwt-part.ts'

export type JwtKind = { readonly typ: string; readonly issuer: string; readonly audience: string }
type Claims = Record<string, unknown>

/** RFC 7515 section 3.1, the compact serialization. */
const COMPACT = /^([\w-]+)\.([\w-]+)\.([\w-]{43})$/

/**
 * Written by hand, because every request needs it: the general library uses WebCrypto, whose way through another thread
 * costs thirty times what the HMAC of a token costs here.
 */
export function hs256(key: Uint8Array, kind: JwtKind) {
  const secret = createSecretKey(key)
  const macOf = (text: string) => createHmac('sha256', secret).update(text).digest()
  const header = encode({ alg: 'HS256', typ: kind.typ })
  return {
    async sign(claims: Claims, issuedAt: Date, expiresAt: Date): Promise<string> {
      const { issuer: iss, audience: aud } = kind
      const body = encode({ ...claims, iss, aud, iat: seconds(issuedAt), exp: seconds(expiresAt) })
      return `${header}.${body}.${macOf(`${header}.${body}`).toString('base64url')}`
    },
    /** Undefined when it is not valid; the reason is not revealed. */
    async verify(token: string, now: Date): Promise<Claims | undefined> {
      const [, head, body, mac] = COMPACT.exec(token) ?? []
      if (head === undefined || body === undefined || mac === undefined) return undefined
      // Before anything is parsed.
      if (!timingSafeEqual(macOf(`${head}.${body}`), Buffer.from(mac, 'base64url'))) return undefined
      const [protectedHeader, claims] = [readJwtPart(head), readJwtPart(body)]
      if (!protectedHeader || !claims) return undefined
      const isOurs =
        protectedHeader['alg'] === 'HS256' &&
        isType(protectedHeader['typ'], kind.typ) &&
        !('crit' in protectedHeader)
      return isOurs && isFor(claims, kind, seconds(now)) ? claims : undefined
    },
  }
}

/** RFC 7515 section 4.1.9: a type may be written with or without `application/`, in any case. */
const isType = (value: unknown, typ: string): boolean =>
  typeof value === 'string' && value.toLowerCase().replace(/^application\//, '') === typ.toLowerCase()

function isFor(
  { iss, aud, sub, iat, exp, nbf }: Claims,
  { issuer, audience }: JwtKind,
  now: number,
): boolean {
  return (
    iss === issuer &&
    [aud].flat().includes(audience) &&
    typeof sub === 'string' &&
    typeof iat === 'number' &&
    typeof exp === 'number' &&
    exp > now &&
    (nbf === undefined || (typeof nbf === 'number' && nbf <= now))
  )
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const seconds = (date: Date): number => Math.floor(date.getTime() / 1000)

/** The type a JWT claims to be, unverified: it only selects the verifier. */
export function jwtType(token: string): string | undefined {
  const typ = readJwtPart(token.split('.', 1)[0]!)?.['typ']
  return typeof typ === 'string' ? typ : undefined
}
