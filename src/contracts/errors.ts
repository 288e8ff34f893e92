/** Every failure the system can answer with: declared once, read by HTTP, MCP, the client and the docs. */
export const ERRORS = {
  UNAUTHENTICATED: {
    status: 401,
    exit: 3,
    says: 'Invalid or expired API token',
    user: 'Sign in again, or make a new API token under Settings.',
    operator: 'Many at once after a change of secrets are expected: rotation ends every token.',
  },
  FORBIDDEN: {
    status: 403,
    exit: 3,
    says: 'Your role does not allow this',
    user: 'Ask an owner for a higher role, or use a token whose scopes and role cap cover the call.',
    operator: 'Nothing to do; the audit list shows who has which role.',
  },
  NOT_FOUND: {
    status: 404,
    exit: 4,
    says: 'Not found',
    user: 'Check the id. What you may not see answers exactly like what does not exist.',
    operator: 'Nothing to do.',
  },
  MAINTENANCE_AGENT_NOT_FOUND: {
    status: 404,
    exit: 4,
    says: 'The maintenance agent is off for this organization',
    user: 'Ask an owner or admin to switch the maintenance agent on for the organization.',
    operator: 'Nothing to do.',
  },
  INVALID_REQUEST: {
    status: 400,
    exit: 5,
    says: 'The request is not valid',
    user: 'Read `problems`: it lists everything that is wrong, not only the first thing.',
    operator: 'Nothing to do.',
  },
  FILTER_NOT_ALLOWED: {
    status: 400,
    exit: 5,
    says: 'This column cannot be filtered on',
    user: 'Filter only on the columns the message lists.',
    operator: 'Nothing to do.',
  },
  INVALID_SEARCH_CONFIGURATION: {
    status: 400,
    exit: 5,
    says: 'Invalid search configuration',
    user: 'Read `problems`: every mismatch with the database is listed, and nothing was saved.',
    operator: 'Nothing to do.',
  },
  NO_SEMANTIC_SEARCH: {
    status: 400,
    exit: 5,
    says: 'this data source has no semantic search configured',
    user: 'Ask a developer or admin of the organization to save a search configuration for it.',
    operator: 'Nothing to do.',
  },
  CONFLICT: {
    status: 409,
    exit: 6,
    says: 'Conflicts with the present state',
    user: 'Read again what is there now, then decide.',
    operator: 'Nothing to do.',
  },
  EXPOSURE_LIMIT: {
    status: 409,
    exit: 6,
    says: 'At most 100 data sources may be exposed',
    user: 'Take another source off the exposed list first.',
    operator: 'Nothing to do.',
  },
  RATE_LIMITED: {
    status: 429,
    exit: 1,
    says: 'Too many requests; wait and try again',
    user: 'Wait as many seconds as `Retry-After` says.',
    operator:
      'If honest people meet it, check TRUSTED_PROXIES: behind a proxy everybody may share one address.',
  },
  QUOTA_EXCEEDED: {
    status: 429,
    exit: 1,
    says: 'Question limit per day exceeded',
    user: 'Wait as many seconds as `Retry-After` says.',
    operator: 'Raise the daily limit if the organization should ask more.',
  },
  EMBEDDING_UNAVAILABLE: {
    status: 502,
    exit: 1,
    says: 'The embedding model cannot be used now',
    user: 'Try again later; nothing was searched, so no wrong answer was given.',
    operator: 'Check address, key and dimensions of the embedding model in the log line of the request.',
  },
  TIMEOUT: {
    status: 504,
    exit: 7,
    says: 'Timed out',
    user: 'Try again; narrow the request if it happens again.',
    operator: 'Look at the database and at the other services this process calls.',
  },
  UNEXPECTED: {
    status: 500,
    exit: 1,
    says: 'Unexpected error',
    user: 'Report the request id.',
    operator: 'Find the request id in the log: the line holds the cause, the answer never does.',
  },
} as const satisfies Record<
  string,
  { status: number; exit: number; says: string; user: string; operator: string }
>

export type ErrorCode = keyof typeof ERRORS

type Extras = {
  /** What to do next, one sentence. */
  hint?: string | undefined
  /** Every single thing that is wrong with the input. */
  problems?: readonly string[] | undefined
  retryAfterSeconds?: number | undefined
  /** For the log only; never leaves the process. */
  cause?: unknown
}

/** `message`, `hint` and `problems` are said to the outside; `cause` stays inside. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly problems: readonly string[] | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, message: string = ERRORS[code].says, extras: Extras = {}) {
    super(message, { cause: extras.cause })
    this.code = code
    this.hint = extras.hint
    this.problems = extras.problems
    this.retryAfterSeconds = extras.retryAfterSeconds
  }
}

export const notFound = () => new ServiceError('NOT_FOUND')

/** What stands in every error answer. The request id travels in the header `x-request-id` as well. */
export type ErrorBody = {
  error: {
    code: ErrorCode
    message: string
    hint?: string
    problems?: readonly string[]
    request_id?: string
  }
}
