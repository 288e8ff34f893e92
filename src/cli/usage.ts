/** What can go wrong before the server is asked: a mistake in the call (exit 5 and what would be right), or Ctrl-C. */
import { ServiceError } from '../contracts/errors.ts'

export const usage = (message: string, hint: string): ServiceError =>
  new ServiceError('INVALID_REQUEST', message, { hint })

/** Ctrl-C where the terminal leaves it to us. */
export class Interrupted extends Error {}
