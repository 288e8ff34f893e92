/** A failure that the server named, with the id under which its log knows it. */
import { ServiceError, type ErrorCode } from '../contracts/errors.ts'

export class Refusal extends ServiceError {
  readonly status: number
  readonly requestId: string | undefined

  constructor(
    code: ErrorCode,
    message: string | undefined,
    extras: ConstructorParameters<typeof ServiceError>[2] & { status: number; requestId: string | undefined },
  ) {
    super(code, message, extras)
    this.status = extras.status
    this.requestId = extras.requestId
  }
}
