/** One key per purpose, by HKDF (RFC 5869) from both JWT secrets: rotating either one invalidates everything derived from them. */
import { hkdfSync } from 'node:crypto'

export type JwtSecrets = { readonly jwtSecret: string; readonly jwtSigningKey: string }

/** A key never serves two purposes: what leaks or is confused in one place opens nothing in another. */
export type KeyPurpose =
  | 'user-token'
  | 'api-token'
  | 'browser-session'
  | 'sign-in-state'
  | 'sign-in-code'
  | 'cli-login'
  | 'cli-token'
  | 'mailed-link'
  | 'device'
  | 'invitation'
  | 'page-forms'
  | 'operator-page'
  | 'oauth-artifact'
  | 'refresh-token'
  | 'assertion-use'
  | 'oauth-cookies'
  | 'consent'
  | 'key-epoch'

export function deriveKey(secrets: JwtSecrets, purpose: KeyPurpose): Uint8Array {
  const both = Buffer.concat([
    Buffer.from(secrets.jwtSecret, 'hex'),
    Buffer.from(secrets.jwtSigningKey, 'hex'),
  ])
  return new Uint8Array(hkdfSync('sha256', both, 'svc', purpose, 32))
}

/** A short fingerprint of both secrets; grants carry it, so rotating either one ends them all without a sweep. */
export const keyEpochOf = (secrets: JwtSecrets): string =>
  Buffer.from(deriveKey(secrets, 'key-epoch')).toString('hex').slice(0, 16)
