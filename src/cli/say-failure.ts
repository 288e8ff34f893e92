/** How a failure is told: a sentence and the way out on stderr, or one line of JSON for programs. */
import { ERRORS, ServiceError } from '../contracts/errors.ts'
import { Refusal } from './refusal.ts'
import { onItsLines } from './terminal-text.ts'
import { writeJson } from './write-answer.ts'

export type Manner = {
  readonly json: boolean
  readonly colour: boolean
  /** The command that lists what was not found. */
  readonly listedBy?: string | undefined
}

export const exitCodeOf = (failure: ServiceError): number => ERRORS[failure.code].exit

export const asFailure = (error: unknown): ServiceError =>
  error instanceof ServiceError
    ? error
    : new ServiceError('UNEXPECTED', 'Something went wrong that svc did not expect', {
        hint: 'Run it again with --debug, and report what it says.',
        cause: error,
      })

export function failureText(failure: ServiceError, { json, colour, listedBy }: Manner): string {
  const { code, message, problems } = failure
  const [status, requestId] =
    failure instanceof Refusal ? [failure.status, failure.requestId] : [undefined, undefined]
  const hint = hintOf(failure, listedBy)
  if (json) {
    return writeJson(
      {
        error: {
          code,
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
  const [red, plain] = colour ? ['\u001b[31m', '\u001b[0m'] : ['', '']
  const lines = [
    `${red}error:${plain} ${onItsLines(message)}`,
    ...(problems ?? []).map((problem) => `  - ${onItsLines(problem)}`),
    ...(hint === undefined ? [] : [`hint: ${onItsLines(hint)}`]),
    // Only where somebody would have to look into the log.
    ...(code === 'UNEXPECTED' && requestId !== undefined ? [`request: ${onItsLines(requestId)}`] : []),
  ]
  return `${lines.join('\n')}\n`
}

function hintOf(
  { code, hint, retryAfterSeconds }: ServiceError,
  listedBy: string | undefined,
): string | undefined {
  if (retryAfterSeconds !== undefined) return `Wait ${retryAfterSeconds} s, then try again.`
  if (hint !== undefined) return hint
  if (code === 'NOT_FOUND' && listedBy !== undefined) return `See what there is: svc ${listedBy}`
  return code === 'UNAUTHENTICATED'
    ? 'Log in with another token: svc login. Check with: svc status'
    : undefined
}
