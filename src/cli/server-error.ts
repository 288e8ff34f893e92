/** An error that the server returned, with the request id for its log. */
import { ServiceError, type ErrorCode } from '../contracts/errors.ts'

export class ServerError extends ServiceError {
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
