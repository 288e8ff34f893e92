/** Serves the cards of the endpoints and their catalog: public, the same for everybody, from memory. */
import { createHash } from 'node:crypto'
import type { Context, Hono } from 'hono'
import { cors } from 'hono/cors'
import { ADDRESS_HEADER } from '../src/client/service.ts'
import { matchesEtag } from '../src/contracts/entity-tag.ts'
import { ServiceError } from '../src/contracts/errors.ts'
import { SERVER_CARD_CACHE_SECONDS, SERVER_CARDS_PER_ADDRESS } from '../src/contracts/limits.ts'
import { networkOf } from '../src/contracts/network-of.ts'
import { RESOURCES } from '../src/contracts/scopes.ts'
import type { McpDeps, McpEnv } from './dependencies.ts'
import { CARD_TYPE, cardPath, catalog, CATALOG_PATH, CATALOG_TYPE, serverCard } from './server-card.ts'

const READ_METHODS = ['GET', 'HEAD']
const ALLOW = { allow: [...READ_METHODS, 'OPTIONS'].join(', ') }
const CACHED = `public, max-age=${SERVER_CARD_CACHE_SECONDS}`

type Document = { readonly text: string; readonly type: string; readonly etag: string }

export function mountServerCards(app: Hono<McpEnv>, deps: McpDeps): void {
  const takeOne = addressLimit(deps.clock)
  const documents = [
    [CATALOG_PATH, 'ai-catalog', document(catalog(deps), CATALOG_TYPE)],
    ...RESOURCES.map(
      (resource) =>
        [cardPath(resource), 'server-card', document(serverCard(deps, resource), CARD_TYPE)] as const,
    ),
  ] as const
  // SEP-2127: any page may read them. Browser clients add the version of the protocol to whatever they fetch.
  const readable = cors({
    origin: '*',
    allowMethods: READ_METHODS,
    allowHeaders: ['Content-Type', 'If-None-Match', 'MCP-Protocol-Version'],
    exposeHeaders: ['ETag', 'Retry-After'],
  })
  for (const [path, route, found] of documents) {
    app.use(path, readable)
    app.all(path, (c) => {
      c.set('route', route)
      takeOne(c.req.header(ADDRESS_HEADER) ?? 'unknown')
      return READ_METHODS.includes(c.req.method)
        ? answer(c, found)
        : c.text('Only GET and HEAD are supported.\n', 405, ALLOW)
    })
  }
}

function answer(c: Context<McpEnv>, { text, type, etag }: Document): Response {
  const headers = { etag, 'cache-control': CACHED }
  if (matchesEtag(c.req.header('if-none-match'), etag)) return c.body(null, 304, headers)
  return c.body(text, 200, { ...headers, 'content-type': type })
}

function document(value: object, type: string): Document {
  const text = `${JSON.stringify(value, null, 2)}\n`
  return { text, type, etag: `"sha256-${createHash('sha256').update(text).digest('hex')}"` }
}

const ADDRESSES_MAX = 10_000

/** In this process only: a card costs no more than a row in the database would. */
function addressLimit(clock: () => Date): (address: string) => void {
  const { count, seconds } = SERVER_CARDS_PER_ADDRESS
  const reads = new Map<string, number>()
  let endsAt = 0
  return function takeOne(address) {
    const now = clock().getTime()
    if (now >= endsAt || reads.size >= ADDRESSES_MAX) {
      reads.clear()
      endsAt = now + seconds * 1000
    }
    const network = networkOf(address)
    const read = (reads.get(network) ?? 0) + 1
    reads.set(network, read)
    if (read <= count) return
    throw new ServiceError('RATE_LIMITED', 'Too many requests; try again later', {
      retryAfterSeconds: Math.ceil((endsAt - now) / 1000),
    })
  }
}
