/**
 * Refresh tokens of agents: random, and they say of which grant they are and since when, under a MAC. Only where the database
 * has lost the row of one is that read: everything else is asked of the row.
 */
import { keyedHash, sameSecret } from './keyed-hash.ts'

export type RefreshTokenFacts = { readonly grantId: string; readonly issuedAt: Date }

const MAC_LENGTH = 32

const macOf = (key: Uint8Array, body: string): string => keyedHash(key, body).slice(0, MAC_LENGTH)

/** `random`: enough of it to be a token by itself. */
export function makeRefreshToken(
  key: Uint8Array,
  random: string,
  { grantId, issuedAt }: RefreshTokenFacts,
): string {
  const body = `${random}.${Math.floor(issuedAt.getTime() / 1000).toString(36)}.${grantId}`
  return `${body}.${macOf(key, body)}`
}

/** Undefined: not one of ours, or of a version that said nothing. */
export function readRefreshToken(key: Uint8Array, token: string): RefreshTokenFacts | undefined {
  const [, body, seconds, grantId, mac] =
    /^([\w-]+\.([0-9a-z]{1,9})\.(\w{1,64}))\.([0-9a-f]+)$/.exec(token) ?? []
  if (body === undefined || !sameSecret(mac!, macOf(key, body))) return undefined
  return { grantId: grantId!, issuedAt: new Date(Number.parseInt(seconds!, 36) * 1000) }
}
