/** An error for the log: type, place and cause, without any values. */

type Described = {
  name: string
  message: string
  code?: string
  constraint?: string
  stack?: string
  cause?: unknown
  errors?: unknown[]
}

const MAX_DEPTH = 5

export function describeError(error: unknown, depth = 0): Described | string | undefined {
  if (error === undefined || depth > MAX_DEPTH) return undefined
  if (!(error instanceof Error)) return typeof error === 'string' ? error : `a thrown ${typeof error}`
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const constraint =
    'constraint_name' in error && typeof error.constraint_name === 'string'
      ? error.constraint_name
      : undefined
  const cause = describeError(error.cause, depth + 1)
  const message = safeMessage(error, code)
  return {
    name: error.name,
    message,
    ...(code === undefined ? {} : { code }),
    ...(constraint === undefined ? {} : { constraint }),
    // The first line of a stack repeats the message; the frames are what helps.
    ...(error.stack
      ? {
          stack: error.stack
            .split('\n')
            .filter((line) => /^\s+at /.test(line))
            .slice(0, 12)
            .join('\n'),
        }
      : {}),
    ...(cause === undefined ? {} : { cause }),
    // A host with several addresses fails with one error for each and an empty message of its own.
    ...(error instanceof AggregateError
      ? { errors: error.errors.slice(0, 3).map((one) => describeError(one, depth + 1)) }
      : {}),
  }
}

function safeMessage(error: Error, code: string | undefined): string {
  // drizzle puts the parameters of a failed query behind its text.
  if ('query' in error && 'params' in error) return `Failed query: ${String(error.query)}`
  // A mail server repeats the address it refuses.
  if ('responseCode' in error) return `the mail server answered ${String(error.responseCode)}`
  // Postgres quotes the offending value in data exceptions (class 22) and constraint violations (class 23).
  if (code && /^2[23]/.test(code)) return `Postgres error ${code}`
  return error.message
}
