/** Asks one of the endpoints by which the client signs in. No token is sent: what is shown is in the fields. */
import { CLI_CLIENT_ID, CLI_PATH } from '../contracts/cli-login.ts'
import { ServiceError } from '../contracts/errors.ts'
import { readJsonObject } from '../contracts/read-json.ts'
import { USER_AGENT } from './client-version.ts'
import type { Environment } from './environment.ts'
import { sendRequest } from './http-request.ts'
import { proxyFor } from './proxy.ts'
import { ServerError } from './server-error.ts'

export type LoginAnswer = {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  /** RFC 6749, 5.2. */
  readonly error: string | undefined
}

export type LoginServer = {
  readonly environment: Environment
  readonly apiUrl: URL
  readonly timeoutMs: number
}

/** Answers that its standards know are returned; all others are errors. */
export async function askLogin(
  { environment, apiUrl, timeoutMs }: LoginServer,
  endpoint: 'device_authorization' | 'par' | 'token' | 'revoke',
  fields: Readonly<Record<string, string>>,
): Promise<LoginAnswer> {
  const { status, headers, body } = await sendRequest(new URL(`${CLI_PATH}/${endpoint}`, apiUrl), {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': USER_AGENT,
    },
    body: new URLSearchParams({ client_id: CLI_CLIENT_ID, ...fields }).toString(),
    timeoutMs,
    proxy: proxyFor(apiUrl, environment.env),
  })
  if (status === 404) throw signsInElsewhere()
  if (status === 429) {
    throw new ServerError('RATE_LIMITED', 'Too many logins from your network', {
      status,
      requestId: undefined,
      retryAfterSeconds: Number(headers['retry-after']) || undefined,
    })
  }
  // RFC 7009: an answer without a body.
  const parsed = readJsonObject(body) ?? {}
  const { error } = parsed
  if (status < 400 || typeof error === 'string')
    return { status, body: parsed, error: typeof error === 'string' ? error : undefined }
  throw new ServerError('UNEXPECTED', `${apiUrl.origin} answered the login with ${status}`, {
    status,
    requestId: undefined,
  })
}

/** Hosted auth, or a server that is older than this. */
const signsInElsewhere = () =>
  new ServiceError('NOT_FOUND', 'This instance does not sign in the client', {
    hint: 'Create an API token in the console, and pipe it in: svc login --api-key - < token.txt',
  })

export const isElsewhere = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'NOT_FOUND'

export type LoginTokens = {
  readonly token: string
  readonly login: { readonly refresh_token: string; readonly expires_at: string }
}

/** By our own clock, which may differ from the server's. */
export function tokensIn({ body }: LoginAnswer, apiUrl: URL): LoginTokens {
  const { access_token: token, refresh_token, expires_in } = body
  if (typeof token !== 'string' || typeof refresh_token !== 'string' || typeof expires_in !== 'number') {
    throw new ServiceError('UNEXPECTED', `${apiUrl.origin} is not an svc server`, {
      hint: 'Check that this is the URL of the API.',
    })
  }
  return {
    token,
    login: { refresh_token, expires_at: new Date(Date.now() + expires_in * 1000).toISOString() },
  }
}
