/** Passwords under argon2id, in native threads. */
import { hash, verify, type Algorithm } from '@node-rs/argon2'
import type { PasswordHashing } from '../../cores/needs.ts'

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
  // Unicode has several spellings of one text; a phone and a laptop may type different ones.
  const spelled = (password: string) => password.normalize('NFKC')
  let nobody: Promise<string> | undefined
  return {
    hash: (password) => hash(spelled(password), options),
    verify: (stored, password) => verify(stored, spelled(password)),
    async verifyNothing(password) {
      nobody ??= hash('nobody has this password', options)
      await verify(await nobody, spelled(password))
      return false
    },
  }
}
