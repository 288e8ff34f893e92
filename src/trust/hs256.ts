/** JWTs of one type under one HS256 key: only this type, this issuer, this audience and this algorithm are taken. */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'

export type JwtKind = { readonly typ: string; readonly issuer: string; readonly audience: string }
type Claims = Record<string, unknown>

/** RFC 7515 section 3.1; nothing is decoded that is written in another way. */
const COMPACT = /^([\w-]+)\.([\w-]+)\.([\w-]{43})$/

/**
 * By hand, because it stands before every request: the general library signs and verifies in WebCrypto, whose detour
 * through another thread costs thirty times what the HMAC of a token costs here.
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
    /** Undefined for whatever is wrong with it: the reasons are nobody's business. */
    async verify(token: string, now: Date): Promise<Claims | undefined> {
      const [, head, body, mac] = COMPACT.exec(token) ?? []
      if (head === undefined || body === undefined || mac === undefined) return undefined
      // Before anything is read: what others wrote is not even parsed.
      if (!timingSafeEqual(macOf(`${head}.${body}`), Buffer.from(mac, 'base64url'))) return undefined
      const [said, claims] = [decode(head), decode(body)]
      if (!said || !claims) return undefined
      const isOurs = said['alg'] === 'HS256' && isType(said['typ'], kind.typ) && !('crit' in said)
      return isOurs && isFor(claims, kind, seconds(now)) ? claims : undefined
    },
  }
}

/** RFC 7515 section 4.1.9: a type may be written with or without `application/`, in any case. */
const isType = (said: unknown, typ: string): boolean =>
  typeof said === 'string' && said.toLowerCase().replace(/^application\//, '') === typ.toLowerCase()

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

function decode(text: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Claims)
      : undefined
  } catch {
    return undefined
  }
}

const seconds = (date: Date): number => Math.floor(date.getTime() / 1000)

/** The type a JWT claims to be, unverified: it only chooses who verifies it. */
export function jwtType(token: string): string | undefined {
  try {
    const header: unknown = JSON.parse(Buffer.from(token.split('.', 1)[0]!, 'base64url').toString())
    const typ = (header as { typ?: unknown } | null)?.typ
    return typeof typ === 'string' ? typ : undefined
  } catch {
    return undefined
  }
}
