/** Secrets of the clients of an identity provider: `svcc_` + 256 random bits in base 62 + a checksum. */
import { addChecksum, randomDigits } from './checked-secret.ts'
import { sha256 } from './keyed-hash.ts'

export const makeClientSecret = (): string => addChecksum(`svcc_${randomDigits()}`)

/** All that is stored of it, as of every client's: `compareClientSecret` hashes what is shown. */
export const clientSecretHash = (secret: string): string => sha256(secret)
