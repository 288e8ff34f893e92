/** Nothing was sent, because nobody was there: with a code and an exit code that no server's error has. */
import { ServiceError } from '../contracts/errors.ts'

export const UNREACHABLE = { code: 'UNREACHABLE', exit: 8 } as const

export class UnreachableError extends ServiceError {
  constructor(message: string, extras: ConstructorParameters<typeof ServiceError>[2]) {
    super('UNEXPECTED', message, extras)
  }
}
