/** Secrets of machine agents: `svcm_` + 256 random bits in base 62 + a checksum, so that secret scanners recognize one. */
import { CREDENTIAL_KINDS } from '../contracts/credential-kinds.ts'
import { addChecksum, randomDigits } from './checked-secret.ts'
import { sha256 } from './keyed-hash.ts'

const PREFIX = CREDENTIAL_KINDS.machine_credential.prefix

export const makeMachineSecret = (): string => addChecksum(PREFIX + randomDigits())

/** All that is stored of it. Without a key: 256 random bits are not guessed. Rotated keys end it by its epoch. */
export const machineSecretHash = (secret: string): string => sha256(secret)

/** Enough to tell two of them apart, far too little to guess the rest. */
export const machineSecretPrefix = (secret: string): string => secret.slice(0, PREFIX.length + 6)
