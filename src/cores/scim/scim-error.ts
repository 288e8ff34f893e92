/** An error with its name in SCIM, where RFC 7644 has one for it. */
import { ServiceError, type ErrorCode } from '../../contracts/errors.ts'
import type { ScimErrorType } from '../../contracts/scim-resources.ts'

export class ScimError extends ServiceError {
  readonly scimType: ScimErrorType

  constructor(scimType: ScimErrorType, message: string, code: ErrorCode = 'INVALID_REQUEST') {
    super(code, message)
    this.scimType = scimType
  }
}
