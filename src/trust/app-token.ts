/**
 * App tokens: `svca_`, 256 random bits, the organization and a checksum. The organization is in it because a token lies
 * with the other tables of its organization, and is looked for there.
 */
import { CREDENTIAL_KINDS } from '../contracts/credential-kinds.ts'
import { addChecksum, CHECKSUM_DIGITS, hasChecksum, randomDigits, SECRET_DIGITS } from './checked-secret.ts'
import { sha256 } from './keyed-hash.ts'

const PREFIX = CREDENTIAL_KINDS.app_token.prefix
const ORGANIZATION_PREFIX = 'org_'
/** An id without its prefix, as src/contracts/ids.ts makes them. */
const SHAPE = new RegExp(
  `^${PREFIX}[0-9A-Za-z]{${SECRET_DIGITS}}([0-9a-z]{25})[0-9A-Za-z]{${CHECKSUM_DIGITS}}$`,
)

export const makeAppToken = (orgId: string): string =>
  addChecksum(PREFIX + randomDigits() + orgId.slice(ORGANIZATION_PREFIX.length))

/** By its beginning: a mistyped one is not taken for a token of another kind, and sent elsewhere. */
export const isAppToken = (text: string): boolean => text.startsWith(PREFIX)

/** Undefined when it was mistyped: then no database is asked. */
export function organizationOfToken(token: string): string | undefined {
  const digits = SHAPE.exec(token)?.[1]
  return digits !== undefined && hasChecksum(token) ? ORGANIZATION_PREFIX + digits : undefined
}

/** All that is stored of a token. Without a key, since this service may hold none: 256 random bits are not guessed. */
export const appTokenHash = (token: string): string => sha256(token)

/** Enough to tell the tokens of an app apart, far too little to guess the rest. */
export const appTokenPrefix = (token: string): string => token.slice(0, PREFIX.length + 6)
