/** Which web origins may call the endpoints, and the CORS preflight; checked before any token is read. */
import type { MiddlewareHandler } from 'hono'
import { ServiceError } from '../src/contracts/errors.ts'
import type { McpEnv, McpDeps } from './dependencies.ts'
import { ALLOWED_METHODS } from './resource.ts'

const HEADERS = [
  'Authorization',
  'Content-Type',
  'Accept',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'traceparent',
]
/** Tools name these themselves, and CORS has no wildcard for part of a name: requested ones are echoed. */
const PARAMETER_HEADER = /^mcp-param-[\w-]+$/i

const PREFLIGHT_SECONDS = '600'

/**
 * MCP 2026-07-28, transports: an unknown Origin is refused, so that no page can reach an MCP server on its user's own
 * machine by DNS rebinding. Programs send no Origin.
 */
export const checkOrigin = (deps: McpDeps): MiddlewareHandler<McpEnv> =>
  async function checkOrigin(c, next) {
    const origin = c.req.header('origin')
    if (origin !== undefined && !isAllowed(deps, origin)) {
      throw new ServiceError('FORBIDDEN', 'This origin is not allowed to call the MCP endpoints', {
        hint: 'Ask the operator of this service to allow the origin.',
      })
    }
    if (c.req.method === 'OPTIONS') c.res = preflight(c.req.header('access-control-request-headers'))
    else await next()
    c.res.headers.append('vary', 'Origin')
    if (origin === undefined) return
    c.res.headers.set('access-control-allow-origin', origin)
    c.res.headers.set('access-control-expose-headers', 'WWW-Authenticate, Retry-After')
  }

function isAllowed({ allowedOrigins, mcpUrl }: McpDeps, origin: string): boolean {
  if (allowedOrigins.includes(origin)) return true
  const url = URL.parse(origin)
  // On a developer's machine the MCP Inspector and similar tools use any free port.
  return url !== null && url.origin === origin && isLoopback(url) && isLoopback(mcpUrl)
}

const isLoopback = ({ protocol, hostname }: URL): boolean =>
  /^https?:$/.test(protocol) && ['localhost', '127.0.0.1', '[::1]'].includes(hostname)

function preflight(requested: string | undefined): Response {
  const parameters = (requested ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => PARAMETER_HEADER.test(name))
  return new Response(null, {
    status: 204,
    headers: {
      allow: ALLOWED_METHODS,
      // GET and DELETE get a 405, which the page can read instead of guessing at a network failure.
      'access-control-allow-methods': 'POST, GET, DELETE',
      'access-control-allow-headers': [...HEADERS, ...parameters].join(', '),
      'access-control-max-age': PREFLIGHT_SECONDS,
      vary: 'Access-Control-Request-Headers',
    },
  })
}
