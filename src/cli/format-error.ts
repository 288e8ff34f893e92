/** Formats an error for stderr: a message and a hint, or one line of JSON. */
import { ERRORS, ServiceError } from '../contracts/errors.ts'
import { formatJson } from './format-output.ts'
import { ServerError } from './server-error.ts'
import { sanitizeLines } from './terminal-text.ts'
import { UNREACHABLE, UnreachableError } from './unreachable-error.ts'

export type ErrorFormat = {
  readonly json: boolean
  readonly color: boolean
  /** The command that lists what was not found. */
  readonly listedBy?: string | undefined
  /** What to do about a token that the server refuses. */
  readonly loginHint?: string
}

export const exitCodeOf = (failure: ServiceError): number =>
  failure instanceof UnreachableError ? UNREACHABLE.exit : ERRORS[failure.code].exit

export const toServiceError = (error: unknown): ServiceError =>
  error instanceof ServiceError
    ? error
    : new ServiceError('UNEXPECTED', 'Unexpected error', {
        hint: 'Run the command again with --debug and report the output.',
        cause: error,
      })

export function formatError(failure: ServiceError, format: ErrorFormat): string {
  const { json, color } = format
  const { code, message, problems } = failure
  const [status, requestId] =
    failure instanceof ServerError ? [failure.status, failure.requestId] : [undefined, undefined]
  const hint = hintOf(failure, format)
  if (json) {
    return formatJson(
      {
        error: {
          code: failure instanceof UnreachableError ? UNREACHABLE.code : code,
          message,
          hint,
          problems,
          status,
          request_id: requestId,
          exit_code: exitCodeOf(failure),
        },
      },
      0,
    )
  }
  const [red, plain] = color ? ['\u001b[31m', '\u001b[0m'] : ['', '']
  const lines = [
    `${red}error:${plain} ${sanitizeLines(message)}`,
    ...(problems ?? []).map((problem) => `  - ${sanitizeLines(problem)}`),
    ...(hint === undefined ? [] : [`hint: ${sanitizeLines(hint)}`]),
    // Only where somebody has to look into the log.
    ...(code === 'UNEXPECTED' && requestId !== undefined ? [`request: ${sanitizeLines(requestId)}`] : []),
  ]
  return `${lines.join('\n')}\n`
}

function hintOf(
  { code, hint, retryAfterSeconds }: ServiceError,
  { listedBy, loginHint }: ErrorFormat,
): string | undefined {
  if (retryAfterSeconds !== undefined) return `Try again in ${retryAfterSeconds} s.`
  if (hint !== undefined) return hint
  if (code === 'NOT_FOUND' && listedBy !== undefined) return `List what exists: svc ${listedBy}`
  return code === 'UNAUTHENTICATED' ? loginHint : undefined
}
