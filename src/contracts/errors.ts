/** Every error code with its HTTP status, client exit code and texts; HTTP, MCP, the client and docs/errors.md read it. */
export const ERRORS = {
  UNAUTHENTICATED: {
    status: 401,
    exit: 3,
    message: 'Invalid or expired API token',
    user: 'Sign in again, or create a new API token under Settings.',
    operator: 'Expected after rotating secrets, which ends every token. Otherwise nothing to do.',
  },
  FORBIDDEN: {
    status: 403,
    exit: 3,
    message: 'Your role does not allow this',
    user: 'Ask an owner for a higher role, or use a token whose scopes and role cap cover the call.',
    operator: 'Nothing to do. The audit trail shows who has which role.',
  },
  NOT_FOUND: {
    status: 404,
    exit: 4,
    message: 'Not found',
    user: 'Check the id. Resources you cannot access return the same error as resources that do not exist.',
    operator: 'Nothing to do.',
  },
  MAINTENANCE_AGENT_NOT_FOUND: {
    status: 404,
    exit: 4,
    message: 'The maintenance agent is off for this organization',
    user: 'Ask an owner or admin to turn on the maintenance agent for the organization.',
    operator: 'Nothing to do.',
  },
  INVALID_REQUEST: {
    status: 400,
    exit: 5,
    message: 'The request is not valid',
    user: 'See `problems`, which lists everything that is wrong with the request.',
    operator: 'Nothing to do.',
  },
  FILTER_NOT_ALLOWED: {
    status: 400,
    exit: 5,
    message: 'This column cannot be filtered on',
    user: 'Use only the filterable columns listed in the message.',
    operator: 'Nothing to do.',
  },
  INVALID_SEARCH_CONFIGURATION: {
    status: 400,
    exit: 5,
    message: 'Invalid search configuration',
    user: 'See `problems`, which lists every mismatch with the database. Nothing was saved.',
    operator: 'Nothing to do.',
  },
  NO_SEMANTIC_SEARCH: {
    status: 400,
    exit: 5,
    message: 'this data source has no semantic search configured',
    user: 'Ask a developer or admin of the organization to save a search configuration for it.',
    operator: 'Nothing to do.',
  },
  TOO_LARGE: {
    status: 413,
    exit: 5,
    message: 'The request is too large',
    user: 'Send less at once; the message says how much is allowed.',
    operator: 'Nothing to do.',
  },
  CONFLICT: {
    status: 409,
    exit: 6,
    message: 'Conflicts with the current state',
    user: 'Fetch the current state, then try again.',
    operator: 'Nothing to do.',
  },
  EXPOSURE_LIMIT: {
    status: 409,
    exit: 6,
    message: 'At most 100 data sources may be exposed',
    user: 'Stop exposing another data source first.',
    operator: 'Nothing to do.',
  },
  HEAD_MOVED: {
    status: 409,
    exit: 6,
    message: 'This push would undo what is in the head',
    user: 'Run `svc apps pull`, apply the patch, or push with `--replace`. `problems` lists what it would undo.',
    operator: 'Nothing to do.',
  },
  RATE_LIMITED: {
    status: 429,
    exit: 1,
    message: 'Too many requests; try again later',
    user: 'Wait for the number of seconds in `Retry-After`.',
    operator:
      'If legitimate users see it, check TRUSTED_PROXIES: behind a proxy, everyone may share one address.',
  },
  QUOTA_EXCEEDED: {
    status: 429,
    exit: 1,
    message: 'Question limit per day exceeded',
    user: 'Wait for the number of seconds in `Retry-After`.',
    operator: 'Raise QUESTIONS_PER_DAY if the organization needs more.',
  },
  EMBEDDING_UNAVAILABLE: {
    status: 502,
    exit: 1,
    message: 'The embedding model cannot be used now',
    user: 'Try again later. Nothing was searched.',
    operator: 'Find the request in the log, then check the URL, key and dimensions of the embedding model.',
  },
  SOURCE_FAILED: {
    status: 502,
    exit: 1,
    message: 'The database of this source could not answer the question',
    user: 'Tell whoever keeps the database. Other data sources are not affected.',
    operator: 'Find the request in the log: the cause has the code that the database reported.',
  },
  CLUSTER_UNAVAILABLE: {
    status: 503,
    exit: 1,
    message: 'The cluster cannot say now whose token this is',
    user: 'Try again in a few seconds. The token was neither accepted nor refused.',
    operator:
      'Check that the auth-service reaches the API server of its cluster. The log and the operator page Workload identity have the cause.',
  },
  UNAVAILABLE: {
    status: 503,
    exit: 1,
    message: 'The service cannot be reached right now; try again shortly',
    user: 'Wait for the number of seconds in `Retry-After`, then try again.',
    operator: 'The database is out of reach, is shutting down or takes no writes. See `/readyz` and the log.',
  },
  OVERLOADED: {
    status: 503,
    exit: 1,
    message: 'The server has too many requests at the moment; try again later',
    user: 'Wait for the number of seconds in `Retry-After`. Nothing was done.',
    operator:
      'See `svc_http_requests_refused_total`. Add processes or cores, and check TRUSTED_PROXIES: addresses take turns.',
  },
  TIMEOUT: {
    status: 504,
    exit: 7,
    message: 'Timed out',
    user: 'Try again. If it happens again, narrow the request.',
    operator: 'Check the database and the services this process calls.',
  },
  UNEXPECTED: {
    status: 500,
    exit: 1,
    message: 'Unexpected error',
    user: 'Report the request id to the operator.',
    operator: 'Search the log for the request id: the log has the cause, the response never does.',
  },
} as const satisfies Record<
  string,
  { status: number; exit: number; message: string; user: string; operator: string }
>

export type ErrorCode = keyof typeof ERRORS

type Extras = {
  /** What to do next, one sentence. */
  hint?: string | undefined
  /** Everything that is wrong with the input. */
  problems?: readonly string[] | undefined
  retryAfterSeconds?: number | undefined
  /** Only for the log; never sent to the client. */
  cause?: unknown
}

/** `message`, `hint` and `problems` are sent to the client; `cause` is not. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly problems: readonly string[] | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, message: string = ERRORS[code].message, extras: Extras = {}) {
    super(message, { cause: extras.cause })
    this.code = code
    this.hint = extras.hint
    this.problems = extras.problems
    this.retryAfterSeconds = extras.retryAfterSeconds
  }
}

export const notFound = () => new ServiceError('NOT_FOUND')

/** With hosted auth: whoever has an account at the vendor's, but in none of the organizations that HOSTED_ORGS names. */
export const notServed = () =>
  new ServiceError('FORBIDDEN', 'This installation does not serve your organization', {
    hint: 'Whoever runs it lists the organizations that it serves.',
  })

/** The body of every error response. The request id is also in the header `x-request-id`. */
export type ErrorBody = {
  error: {
    code: ErrorCode
    message: string
    hint?: string
    problems?: readonly string[]
    request_id?: string
  }
}
