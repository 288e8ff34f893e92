/** What the door says when it does not let a request through: always JSON, only our own sentences. */
import type { Context } from 'hono'
import { ERRORS, ServiceError, type ErrorBody } from '../src/contracts/errors.ts'
import type { Resource, Scope } from '../src/contracts/scopes.ts'
import type { McpEnv, McpNeeds } from './needs.ts'
import { FIRST_SCOPE, metadataUrl, METHODS } from './resource.ts'

type C = Context<McpEnv>

export function refuse(error: unknown, c: C): Response {
  c.set('failure', error)
  const said = asServiceError(error)
  const wait = said.retryAfterSeconds
  return errorAnswer(c, said, wait === undefined ? {} : { 'retry-after': String(wait) })
}

/**
 * RFC 6750, 3 and RFC 9728, 5.1: which token would be taken, and where the way to one is described. Who sent none is told
 * of no error: clients take that for a token gone bad and throw away what they have.
 */
export function challenge(
  c: C,
  { mcpUrl, authMode }: McpNeeds,
  resource: Resource,
  sentOne: boolean,
): Response {
  const parameters = [
    ...(sentOne ? ['error="invalid_token"'] : []),
    ...(authMode === 'self' ? [`resource_metadata="${metadataUrl(mcpUrl, resource)}"`] : []),
    `scope="${FIRST_SCOPE[resource]}"`,
  ]
  const said = new ServiceError('UNAUTHENTICATED', sentOne ? undefined : 'A bearer token is needed')
  c.set('failure', said)
  return errorAnswer(c, said, { 'www-authenticate': `Bearer ${parameters.join(', ')}` })
}

/** RFC 6750, 3.1: all scopes of the call at once, because clients ask for exactly what stands there. */
export function scopeChallenge(
  c: C,
  { mcpUrl }: McpNeeds,
  resource: Resource,
  scopes: readonly Scope[],
): Response {
  const said = new ServiceError('FORBIDDEN', `This tool needs the scope ${scopes.join(' ')}`, {
    hint: 'Connect again and allow it.',
  })
  c.set('failure', said)
  const parameters = [
    'error="insufficient_scope"',
    `scope="${scopes.join(' ')}"`,
    `resource_metadata="${metadataUrl(mcpUrl, resource)}"`,
  ]
  return errorAnswer(c, said, { 'www-authenticate': `Bearer ${parameters.join(', ')}` })
}

/** Sessions and their GET and DELETE are gone since 2026-07-28, and nothing is kept for older clients either. */
export const onlyPost = (): Response => rpcError(405, 'Only POST is answered here', { allow: METHODS })

/** For what is wrong with the message rather than with its sender, as the protocol wants to hear it. */
export const rpcError = (status: number, message: string, headers: Record<string, string> = {}): Response =>
  Response.json({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }, { status, headers })

function errorAnswer(c: C, said: ServiceError, headers: Record<string, string>): Response {
  const body: ErrorBody = {
    error: {
      code: said.code,
      message: said.message,
      ...(said.hint === undefined ? {} : { hint: said.hint }),
      request_id: c.get('requestId'),
    },
  }
  return Response.json(body, {
    status: ERRORS[said.code].status,
    headers: { 'cache-control': 'no-store', ...headers },
  })
}

function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  const isLate = error instanceof DOMException && error.name === 'TimeoutError'
  return new ServiceError(isLate ? 'TIMEOUT' : 'UNEXPECTED')
}
