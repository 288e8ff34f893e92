/** SCIM bearers: `svcs_` + 256 random bits in base 62 + a checksum, so that secret scanners recognize one. */
import { CREDENTIAL_KINDS } from '../contracts/credential-kinds.ts'
import { addChecksum, hasChecksum, randomDigits } from './checked-secret.ts'
import { sha256 } from './keyed-hash.ts'

const PREFIX = CREDENTIAL_KINDS.scim_bearer.prefix

export const makeScimBearer = (): string => addChecksum(PREFIX + randomDigits())

/** False when it was mistyped, or is of another kind: then no database is asked. */
export const isScimBearer = (text: string): boolean => text.startsWith(PREFIX) && hasChecksum(text)

/** All that is stored of it. Without a key: 256 random bits are not guessed. Rotated keys end it by its epoch. */
export const scimBearerHash = (bearer: string): string => sha256(bearer)

export const scimBearerPrefix = (bearer: string): string => bearer.slice(0, PREFIX.length + 6)
