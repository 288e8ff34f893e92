/** JWTs of one type under one HS256 key: only this type, this issuer, this audience and this algorithm are taken. */
import type { JWTPayload } from 'jose'

export type JwtKind = { readonly typ: string; readonly issuer: string; readonly audience: string }

/** Loaded with the first token: its 46 files are a noticeable part of a start. */
const jose = () => import('jose')

export function hs256(key: Uint8Array, kind: JwtKind) {
  // A CryptoKey verifies about 1.5 times as fast as raw bytes, which jose would import anew on every call.
  const ready = crypto.subtle.importKey(
    'raw',
    new Uint8Array(key),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign', 'verify'],
  )
  return {
    async sign(claims: JWTPayload, issuedAt: Date, expiresAt: Date): Promise<string> {
      const { SignJWT } = await jose()
      return new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', typ: kind.typ })
        .setIssuer(kind.issuer)
        .setAudience(kind.audience)
        .setIssuedAt(seconds(issuedAt))
        .setExpirationTime(seconds(expiresAt))
        .sign(await ready)
    },
    /** Undefined for whatever is wrong with it: the reasons are nobody's business. */
    async verify(token: string, now: Date): Promise<JWTPayload | undefined> {
      try {
        const { jwtVerify } = await jose()
        const { payload } = await jwtVerify(token, await ready, {
          algorithms: ['HS256'],
          typ: kind.typ,
          issuer: kind.issuer,
          audience: kind.audience,
          requiredClaims: ['sub', 'iat', 'exp'],
          currentDate: now,
        })
        return payload
      } catch {
        return undefined
      }
    },
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
