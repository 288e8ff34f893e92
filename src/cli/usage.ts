/** A mistake in how the client was called: exit 5, and a line that says what would be right. */
import { ServiceError } from '../contracts/errors.ts'

export const usage = (message: string, hint: string): ServiceError =>
  new ServiceError('INVALID_REQUEST', message, { hint })
