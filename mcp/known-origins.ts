/** Which web pages may talk to the endpoints, and the preflight that tells their browsers so, before any token is seen. */
import type { MiddlewareHandler } from 'hono'
import { ServiceError } from '../src/contracts/errors.ts'
import type { McpEnv, McpNeeds } from './needs.ts'
import { METHODS } from './resource.ts'

const HEADERS = [
  'Authorization',
  'Content-Type',
  'Accept',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'traceparent',
]
/** Tools name these themselves, and CORS has no wildcard for the rest of a name: what is asked for is said back. */
const PARAMETER_HEADER = /^mcp-param-[\w-]+$/i

const PREFLIGHT_SECONDS = '600'

/**
 * MCP 2026-07-28, transports: a foreign Origin is refused, so that no page can reach an MCP server on its visitor's own
 * machine through a rebound name (DNS rebinding). Programs send no Origin.
 */
export const onlyKnownOrigins = (needs: McpNeeds): MiddlewareHandler<McpEnv> =>
  async function knownOrigins(c, next) {
    const origin = c.req.header('origin')
    if (origin !== undefined && !isKnown(needs, origin)) {
      throw new ServiceError('FORBIDDEN', 'Pages of this origin may not call the MCP endpoints', {
        hint: 'Ask whoever runs this service to allow the origin.',
      })
    }
    if (c.req.method === 'OPTIONS') c.res = preflight(c.req.header('access-control-request-headers'))
    else await next()
    c.res.headers.append('vary', 'Origin')
    if (origin === undefined) return
    c.res.headers.set('access-control-allow-origin', origin)
    c.res.headers.set('access-control-expose-headers', 'WWW-Authenticate, Retry-After')
  }

function isKnown({ allowedOrigins, mcpUrl }: McpNeeds, origin: string): boolean {
  if (allowedOrigins.includes(origin)) return true
  const url = URL.parse(origin)
  // On one's own machine the inspector and its like run at whatever port is free.
  return url !== null && url.origin === origin && isLoopback(url) && isLoopback(mcpUrl)
}

const isLoopback = ({ protocol, hostname }: URL): boolean =>
  /^https?:$/.test(protocol) && ['localhost', '127.0.0.1', '[::1]'].includes(hostname)

function preflight(asked: string | undefined): Response {
  const parameters = (asked ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => PARAMETER_HEADER.test(name))
  return new Response(null, {
    status: 204,
    headers: {
      allow: METHODS,
      // GET and DELETE are answered 405: let the page read that instead of guessing at a network failure.
      'access-control-allow-methods': 'POST, GET, DELETE',
      'access-control-allow-headers': [...HEADERS, ...parameters].join(', '),
      'access-control-max-age': PREFLIGHT_SECONDS,
      vary: 'Access-Control-Request-Headers',
    },
  })
}
