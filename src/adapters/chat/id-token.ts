/** Checks an id token of the chat service: its signature, and that it is from there, for us, for now and for this walk. */
import { createPublicKey, verify } from 'node:crypto'
import * as z from 'zod'
import { readJson } from '../../contracts/read-json.ts'

const Header = z.object({ alg: z.literal('RS256'), kid: z.string() })
const Claims = z.looseObject({
  iss: z.string(),
  aud: z.union([z.string(), z.array(z.string())]),
  exp: z.number(),
  iat: z.number(),
  nonce: z.string(),
})
export type Claims = z.output<typeof Claims>

const Keys = z.object({ keys: z.array(z.looseObject({ kty: z.string(), kid: z.string().optional() })) })

/** Clocks differ a little. */
const LEEWAY_SECONDS = 60

type Expected = {
  readonly issuer: string
  readonly audience: string
  readonly nonce: string
  readonly nowMs: number
  /** The service's public keys, as it publishes them. */
  readonly keys: unknown
}

/** Undefined for anything but a token that holds in every respect. */
export function readIdToken(token: string, expected: Expected): Claims | undefined {
  const [head = '', body = '', signature = '', ...more] = token.split('.')
  const header = Header.safeParse(decoded(head))
  const claims = Claims.safeParse(decoded(body))
  if (more.length > 0 || !header.success || !claims.success) return undefined
  const key = keyOf(expected.keys, header.data.kid)
  const signed = Buffer.from(`${head}.${body}`)
  if (!key || !verify('RSA-SHA256', signed, key, Buffer.from(signature, 'base64url'))) return undefined
  return isMeant(claims.data, expected) ? claims.data : undefined
}

function isMeant({ iss, aud, exp, iat, nonce }: Claims, expected: Expected): boolean {
  const now = expected.nowMs / 1000
  return (
    iss === expected.issuer &&
    // One audience alone: a token for several was made for somebody else as well.
    (aud === expected.audience || (Array.isArray(aud) && aud.length === 1 && aud[0] === expected.audience)) &&
    exp > now - LEEWAY_SECONDS &&
    iat < now + LEEWAY_SECONDS &&
    nonce === expected.nonce
  )
}

function keyOf(published: unknown, kid: string) {
  const keys = Keys.safeParse(published).data?.keys ?? []
  const found = keys.find((key) => key.kid === kid && key.kty === 'RSA')
  try {
    return found && createPublicKey({ key: found, format: 'jwk' })
  } catch {
    return undefined
  }
}

const decoded = (part: string): unknown => readJson(Buffer.from(part, 'base64url').toString('utf8'))
