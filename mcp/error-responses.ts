/** Responses to requests that are refused: always JSON, and only text of our own. */
import type { Context } from 'hono'
import { ERRORS, ServiceError, type ErrorBody } from '../src/contracts/errors.ts'
import { CHALLENGE_SCOPE, type Resource, type Scope } from '../src/contracts/scopes.ts'
import type { McpEnv, McpDeps } from './dependencies.ts'
import { metadataUrl, ALLOWED_METHODS } from './resource.ts'

type C = Context<McpEnv>

export function handleError(error: unknown, c: C): Response {
  c.set('failure', error)
  const known = asServiceError(error)
  const wait = known.retryAfterSeconds
  return errorResponse(c, known, wait === undefined ? {} : { 'retry-after': String(wait) })
}

/**
 * RFC 6750, 3 and RFC 9728, 5.1: which scope is needed and where the metadata is. Without a token in the request there
 * is no error code: clients take one as a sign that their token is invalid and discard it.
 */
export function challenge(c: C, deps: McpDeps, resource: Resource, hasToken: boolean): Response {
  const parameters = [
    ...(hasToken ? ['error="invalid_token"'] : []),
    ...(deps.authMode === 'self' ? [`resource_metadata="${metadataUrl(deps.mcpUrl, resource)}"`] : []),
    `scope="${CHALLENGE_SCOPE[resource]}"`,
  ]
  const error = new ServiceError('UNAUTHENTICATED', hasToken ? undefined : 'A bearer token is required')
  c.set('failure', error)
  return errorResponse(c, error, { 'www-authenticate': `Bearer ${parameters.join(', ')}` })
}

/** RFC 6750, 3.1: all scopes of the call at once, because clients request exactly those. */
export function scopeChallenge(c: C, deps: McpDeps, resource: Resource, scopes: readonly Scope[]): Response {
  const error = new ServiceError('FORBIDDEN', `This tool needs the scope ${scopes.join(' ')}`, {
    hint: 'Reconnect and allow it.',
  })
  c.set('failure', error)
  const parameters = [
    'error="insufficient_scope"',
    `scope="${scopes.join(' ')}"`,
    `resource_metadata="${metadataUrl(deps.mcpUrl, resource)}"`,
  ]
  return errorResponse(c, error, { 'www-authenticate': `Bearer ${parameters.join(', ')}` })
}

/** Sessions, with their GET and DELETE, were removed in 2026-07-28; older clients get none either. */
export const methodNotAllowed = (): Response =>
  rpcError(405, 'Only POST is supported', { headers: { allow: ALLOWED_METHODS } })

type RpcError = { id?: string | number | null; code?: number; headers?: Record<string, string> }

/** For a problem with the message rather than its sender: a JSON-RPC error, as the protocol requires. */
export const rpcError = (
  status: number,
  message: string,
  { id = null, code = -32_000, headers = {} }: RpcError = {},
): Response => Response.json({ jsonrpc: '2.0', error: { code, message }, id }, { status, headers })

function errorResponse(c: C, error: ServiceError, headers: Record<string, string>): Response {
  const body: ErrorBody = {
    error: {
      code: error.code,
      message: error.message,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      request_id: c.get('requestId'),
    },
  }
  return Response.json(body, {
    status: ERRORS[error.code].status,
    headers: { 'cache-control': 'no-store', ...headers },
  })
}

function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  const isTimeout = error instanceof DOMException && error.name === 'TimeoutError'
  return new ServiceError(isTimeout ? 'TIMEOUT' : 'UNEXPECTED')
}
