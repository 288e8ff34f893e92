/** Calls an operation of the server and returns its result, or throws an error with its exit code. */
import { errorIn, requestParts } from '../client/request-parts.ts'
import type { ErrorCode } from '../contracts/errors.ts'
import type { Input, Output } from '../contracts/operations.ts'
import { sendRequest, type HttpResponse } from './http-request.ts'
import type { Proxy } from './proxy.ts'
import { REQUESTS, type Request } from './requests.ts'
import { ServerError } from './server-error.ts'

export type CallOperation = <Name extends keyof typeof REQUESTS>(
  name: Name,
  input: Input<Name>,
) => Promise<Output<Name>>

export type Server = {
  readonly apiUrl: URL
  readonly token: string
  readonly timeoutMs: number
  readonly userAgent: string
  readonly proxy?: Proxy | undefined
  readonly signal?: AbortSignal
  /** Called with a line for every request, without secrets. */
  readonly trace?: (line: string) => void
}

export const httpClient =
  (server: Server): CallOperation =>
  async (name, input) => {
    const [method, template, { gives, ...more } = {}] = REQUESTS[name] as Request
    const { path, ...parts } = requestParts(
      { method, path: template, ...more },
      input as Readonly<Record<string, unknown>>,
    )
    const url = new URL(path, server.apiUrl)
    const response = await sendToServer(server, { url, ...parts })
    const given = gives && response.status === 200 ? { body: response.bytes } : undefined
    return (given ?? parseResponse(url, response)) as Output<typeof name>
  }

export type ServerRequest = {
  readonly method: string
  /** Of the server itself: the token goes there. */
  readonly url: URL
  /** In lower case; those of the client itself come last. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
}

export async function sendToServer(
  server: Server,
  { method, url, headers, body }: ServerRequest,
): Promise<HttpResponse> {
  if (url.origin !== server.apiUrl.origin) throw new Error(`the token is not for ${url.origin}`)
  // Not `performance`: loading it takes longer than what it would measure.
  const startedAt = Date.now()
  const response = await sendRequest(url, {
    method,
    headers: {
      accept: 'application/json',
      ...headers,
      authorization: `Bearer ${server.token}`,
      'user-agent': server.userAgent,
      // The activity list shows `cli` as the source because of it.
      'x-svc-client': 'cli',
    },
    ...(body === undefined ? {} : { body }),
    timeoutMs: server.timeoutMs,
    proxy: server.proxy,
    signal: server.signal,
  })
  const ms = Date.now() - startedAt
  server.trace?.(`${method} ${url.href} ${response.status} ${ms} ms ${requestIdOf(response) ?? ''}`)
  return response
}

export function parseResponse(url: URL, response: HttpResponse): unknown {
  const { status } = response
  if (status === 204) return {}
  const body = jsonOf(response.body)
  if (status >= 200 && status < 300) {
    if (typeof body === 'object' && body !== null) return body
    throw unknownResponse(url, response, 'UNEXPECTED')
  }
  if (status >= 300 && status < 400) {
    throw new ServerError('UNEXPECTED', `${url.origin} redirects (${status})`, {
      hint: 'Redirects are not followed, because they would expose your token. Log in with the final URL.',
      status,
      requestId: requestIdOf(response),
    })
  }
  const error = errorIn(body, response.headers['retry-after'])
  if (!error) throw unknownResponse(url, response, codeFor(status))
  const { code = codeFor(status), message, ...extras } = error
  throw new ServerError(code, message, { ...extras, status, requestId: requestIdOf(response) })
}

/** A proxy answered, or the server is not svc. */
const unknownResponse = (url: URL, response: HttpResponse, code: ErrorCode): ServerError =>
  new ServerError(code, `${url.origin} returned ${response.status} with a body that is not from svc`, {
    hint: 'Check that this is the URL of the API. A proxy in front of it may have answered.',
    status: response.status,
    requestId: requestIdOf(response),
  })

/** The code for a status that came without one, or with one of a newer server. */
function codeFor(status: number): ErrorCode {
  if (status === 401) return 'UNAUTHENTICATED'
  if (status === 403) return 'FORBIDDEN'
  if (status === 404 || status === 410) return 'NOT_FOUND'
  if (status === 408 || status === 504) return 'TIMEOUT'
  if (status === 409 || status === 412) return 'CONFLICT'
  if (status === 429) return 'RATE_LIMITED'
  if (status === 413) return 'TOO_LARGE'
  return [400, 414, 415, 422].includes(status) ? 'INVALID_REQUEST' : 'UNEXPECTED'
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function requestIdOf({ headers }: HttpResponse): string | undefined {
  const id = headers['x-request-id']
  return typeof id === 'string' ? id : undefined
}
