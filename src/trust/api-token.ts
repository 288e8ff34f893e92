/** API tokens: `svc_` + 256 random bits in base 62 + a checksum, so that secret scanners recognize one. */
import { CREDENTIAL_KINDS } from '../contracts/credential-kinds.ts'
import { addChecksum, CHECKSUM_DIGITS, hasChecksum, randomDigits, SECRET_DIGITS } from './checked-secret.ts'
import type { KeyPurpose } from './derive-key.ts'
import { keyedHash } from './keyed-hash.ts'

const PREFIX = CREDENTIAL_KINDS.api_token.prefix

const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_DIGITS + CHECKSUM_DIGITS}}$`)

export const makeApiToken = (): string => addChecksum(PREFIX + randomDigits())

/** A mistyped token is refused here, before the database is queried. */
export const isApiToken = (text: string): boolean => SHAPE.test(text) && hasChecksum(text)

/** All that is stored of a token. */
export const apiTokenHash = (deps: { keyFor(purpose: KeyPurpose): Uint8Array }, token: string): string =>
  keyedHash(deps.keyFor('api-token'), token)

/** Enough to tell one's own tokens apart in a list, far too little to guess the rest. */
export const tokenPrefix = (token: string): string => token.slice(0, PREFIX.length + 6)
