/** Failures before the server is called: a mistake on the command line (exit 5, with a hint), or Ctrl-C. */
import { ServiceError } from '../contracts/errors.ts'

export const usageError = (message: string, hint: string): ServiceError =>
  new ServiceError('INVALID_REQUEST', message, { hint })

/** Ctrl-C while the terminal is in raw mode and does not handle it itself. */
export class Interrupted extends Error {}
