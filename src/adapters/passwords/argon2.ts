/** Passwords under argon2id, in native threads. */
import { hash, verify, type Algorithm } from '@node-rs/argon2'
import type { PasswordHashing } from '../../cores/dependencies.ts'

export type Argon2Cost = { memoryKib: number; passes: number }

/** OWASP's first recommendation for argon2id: 19 MiB, two passes, one lane. */
const ARGON2_COST: Argon2Cost = { memoryKib: 19_456, passes: 2 }

export function argon2Passwords(cost: Argon2Cost = ARGON2_COST): PasswordHashing['passwords'] {
  // `Algorithm` is an ambient const enum, which type stripping cannot read: 2 is Argon2id.
  const options = {
    algorithm: 2 as Algorithm,
    memoryCost: cost.memoryKib,
    timeCost: cost.passes,
    parallelism: 1,
  }
  // Unicode has several forms of one text; a phone and a laptop may send different ones.
  const normalized = (password: string) => password.normalize('NFKC')
  let unknownUser: Promise<string> | undefined
  return {
    hash: (password) => hash(normalized(password), options),
    verify: (stored, password) => verify(stored, normalized(password)),
    async verifyNothing(password) {
      unknownUser ??= hash('nobody has this password', options)
      await verify(await unknownUser, normalized(password))
      return false
    },
  }
}
