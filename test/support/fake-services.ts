/** An MCP server whose auth service and gateway are small functions that record their requests. */
import type * as z from 'zod'
import type { Service } from '../../src/client/service.ts'
import { reportToolCall } from '../../src/contracts/activity.ts'
import {
  fetchSearchResult,
  listAskableDataSources,
  queryDataSource,
  searchDataSources,
  showQuota,
} from '../../src/contracts/data-sources.ts'
import type { ErrorCode } from '../../src/contracts/errors.ts'
import { ERRORS } from '../../src/contracts/errors.ts'
import { acknowledgeNotification, listNotifications } from '../../src/contracts/inbox.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import type { Role } from '../../src/contracts/roles.ts'
import { DEFAULT_SCOPES, type Resource, type Scope } from '../../src/contracts/scopes.ts'
import { listFollows, setFollow } from '../../src/contracts/subscriptions.ts'
import { validateToken } from '../../src/contracts/tokens.ts'
import { readPublishedSkills } from '../../src/skills/read-published.ts'
import { ACCESS_TOKEN_TYPE, accessTokens } from '../../src/trust/access-token.ts'
import { actorAssertions } from '../../src/trust/actor-assertion.ts'
import { makeApiToken } from '../../src/trust/api-token.ts'
import { hs256 } from '../../src/trust/hs256.ts'
import { createMcpServer, type McpDeps } from '../../mcp/app.ts'
import { MAINTENANCE_OPERATIONS, maintenanceAnswers, ORG_ID } from './fake-maintenance.ts'

export const MCP = 'https://mcp.example.com'
export const APP = 'https://app.example.com'
export const ISSUER = 'https://auth.example.com'
export const CLIENT = 'https://agent.example/client.json'

const JWT_SECRET = '11'.repeat(32)
const ASSERTION_SECRET = '22'.repeat(32)
const NOW = new Date('2026-11-15T12:00:00Z')
const USER = { id: 'usr_1', email: 'ada@example.com', name: 'Ada' }
const ORGANIZATION = { id: ORG_ID, name: 'Northwind', slug: 'northwind' }

type Valid = z.output<typeof validateToken.output>
export type Report = z.output<typeof reportToolCall.input>

/** What the gateway does for each operation; a test puts its own in the place of one. */
export type Gateway = Record<string, (input: Record<string, unknown>) => object | Promise<object>>

const OPERATIONS: readonly Operation[] = [
  showQuota,
  listAskableDataSources,
  queryDataSource,
  searchDataSources,
  fetchSearchResult,
  listNotifications,
  acknowledgeNotification,
  listFollows,
  setFollow,
  reportToolCall,
  ...MAINTENANCE_OPERATIONS,
]

export const NOTIFICATION = `ntf_${'1'.repeat(25)}`
const SOURCES = ['db_handbook', 'db_orders'].map((id) => ({
  id,
  name: `About ${id}`,
  minimum_role: 'viewer',
  filters: { year: 'number' },
  targets: ['all'],
  description: '',
}))
const HIT = { id: '7', title: 'A row', metadata: { body: 'What it says', _target: 'all' } }

const defaultAnswers = (): Gateway => ({
  [showQuota.name]: () => ({
    minute: { limit: 60, left: 59, resets_at: '2026-11-15T12:01:00.000Z' },
    day: { limit: 5000, left: 4990, resets_at: '2026-11-16T00:00:00.000Z' },
  }),
  [listAskableDataSources.name]: () => ({ data_sources: SOURCES }),
  [queryDataSource.name]: () => ({
    count: 1,
    results: [{ ...HIT, metadata: { ...HIT.metadata, _score: 1 } }],
  }),
  [searchDataSources.name]: () => ({
    count: 1,
    results: [{ ...HIT, id: 'handle-7', metadata: { ...HIT.metadata, _score: 1, _source: 'db_handbook' } }],
  }),
  [fetchSearchResult.name]: () => ({ source_id: 'db_handbook', target: 'all', hit: HIT }),
  [listNotifications.name]: () => ({
    notifications: [
      {
        id: NOTIFICATION,
        type: 'deploy.failed',
        subject: 'app_1',
        summary: 'A deployment failed',
        url: null,
        timestamp: '2026-11-15T11:00:00.000Z',
        read: false,
        read_at: null,
      },
    ],
    unread_count: 1,
  }),
  [acknowledgeNotification.name]: ({ notification_id }) =>
    notification_id === NOTIFICATION
      ? { id: NOTIFICATION, read: true, read_at: '2026-11-15T12:00:00.000Z' }
      : errorResponse('NOT_FOUND'),
  [listFollows.name]: () => ({ follows: [FOLLOW], next_daily_at: '2026-11-16T09:00:00.000Z' }),
  [setFollow.name]: ({ alias, categories, frequency }) =>
    alias === FOLLOW.app ? { ...FOLLOW, categories, frequency } : errorResponse('NOT_FOUND'),
  [reportToolCall.name]: () => new Response(null, { status: 204 }),
  ...maintenanceAnswers(),
})
const FOLLOW = {
  app: 'shop',
  name: 'The shop',
  categories: ['Tickets'],
  frequency: 'daily',
  last: {
    outcome: 'not_sent',
    reason: 'no_chat_account',
    at: '2026-11-15T11:00:00.000Z',
    next_attempt_at: null,
  },
}

export type FakeServices = ReturnType<typeof fakeServices>

export function fakeServices(changes: Partial<McpDeps> = {}) {
  const asked: { service: 'auth' | 'gateway'; url: string; headers: Headers; body: string }[] = []
  const warned: [event: string, fields: unknown][] = []
  const assertions = actorAssertions(ASSERTION_SECRET, ISSUER)
  const apiToken = makeApiToken()
  const grant = { id: 'grt_1', isLive: true, scopes: Object.values(DEFAULT_SCOPES).flat() as Scope[] }
  const token = { isLive: true, scopes: null as Scope[] | null, audiences: ['platform', 'notifications'] }
  const system = {
    clock: NOW,
    grant,
    token,
    role: 'developer' as Role,
    does: defaultAnswers(),
    changeAnswer: (valid: Valid): Valid => valid,
  }
  const reported: Report[] = []

  const recorded =
    (service: 'auth' | 'gateway', answer: (request: Request, body: string) => Promise<Response>): Service =>
    async (request) => {
      const body = await request.text()
      asked.push({ service, url: request.url, headers: request.headers, body })
      return answer(request, body)
    }

  async function validate(presented: string, audience: string | undefined): Promise<Valid | undefined> {
    const common = {
      valid: true as const,
      user: USER,
      organization: ORGANIZATION,
      role: system.role,
    }
    if (presented === apiToken) {
      if (!token.isLive || (audience !== undefined && !token.audiences.includes(audience))) return undefined
      const { scopes } = token
      return { ...common, kind: 'api_token', scopes, audiences: [], expires_at: null, token_id: 'tok_1' }
    }
    const actor = await assertions.verify(presented, system.clock)
    if (!actor || (actor.grantId === undefined && (audience ?? 'api') !== 'api')) return undefined
    if (actor.grantId === undefined ? !token.isLive : !grant.isLive || actor.grantId !== grant.id)
      return undefined
    return {
      ...common,
      kind: 'actor',
      scopes: actor.scopes.filter((scope) => (actor.grantId ? grant.scopes.includes(scope) : true)),
      audiences: ['api'],
      expires_at: actor.expiresAt.toISOString(),
      token_id: actor.tokenId,
      client_id: actor.clientId,
      grant_id: actor.grantId,
    }
  }

  const deps: McpDeps = {
    auth: recorded('auth', async (_request, body) => {
      const input = validateToken.input.parse(JSON.parse(body))
      const valid = await validate(input.token ?? '', input.audience)
      return valid ? Response.json(system.changeAnswer(valid)) : errorResponse('UNAUTHENTICATED')
    }),
    gateway: recorded('gateway', async (request, body) => {
      const bearer = request.headers.get('authorization')?.replace('Bearer ', '') ?? ''
      const valid = await validate(bearer, 'api')
      if (!valid) return errorResponse('UNAUTHENTICATED')
      const url = new URL(request.url)
      const operation = OPERATIONS.find((one) => takes(one, request.method, url.pathname))
      if (!operation) return errorResponse('NOT_FOUND')
      const [, ...inPath] = pathPattern(operation).exec(url.pathname) ?? []
      const named = [...operation.http.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
      const input = operation.input.parse({
        ...Object.fromEntries(url.searchParams),
        ...(body === '' ? {} : (JSON.parse(body) as object)),
        ...Object.fromEntries(named.map((name, at) => [name, decodeURIComponent(inPath[at] ?? '')])),
      })
      if (operation === reportToolCall) reported.push(reportToolCall.input.parse(input))
      const answer = await system.does[operation.name]!(input)
      return answer instanceof Response ? answer : Response.json(answer)
    }),
    mcpUrl: new URL(MCP),
    appUrl: new URL(APP),
    issuer: new URL(ISSUER),
    authMode: 'self',
    enterpriseAuth: true,
    servedOrganizations: undefined,
    stepUp: 'challenge',
    accessTokens: accessTokens(JWT_SECRET, ISSUER),
    actorAssertions: assertions,
    allowedOrigins: ['https://chat.example'],
    skills: readPublishedSkills(),
    clock: () => system.clock,
    version: '1.2.3',
    log: { warn: (event, fields) => warned.push([event, fields]) },
    ...changes,
  }
  return Object.assign(system, {
    app: createMcpServer(deps),
    deps,
    asked,
    reported,
    warned,
    assertions,
    apiToken,
  })
}

const pathPattern = ({ http }: Operation): RegExp =>
  new RegExp(`^${http.path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`)
const takes = (operation: Operation, method: string, path: string): boolean =>
  operation.http.method.toUpperCase() === method && pathPattern(operation).test(path)

/** The body of a service that refuses. */
export const errorResponse = (
  code: ErrorCode,
  extras: object = {},
  headers: Record<string, string> = {},
): Response =>
  Response.json(
    { error: { code, message: ERRORS[code].message, ...extras } },
    { status: ERRORS[code].status, headers },
  )

type Claims = {
  audience?: string
  issuer?: string
  secret?: string
  typ?: string
  scope?: string
  livesSeconds?: number
  grantId?: string
}

/** An access token as the auth service would issue it, or one that is wrong in one way. */
export function agentToken(system: FakeServices, resource: Resource, claims: Claims = {}): Promise<string> {
  const key = new Uint8Array(Buffer.from(claims.secret ?? JWT_SECRET, 'hex'))
  const {
    typ = ACCESS_TOKEN_TYPE,
    issuer = ISSUER,
    audience = `${MCP}/${resource}`,
    grantId = 'grt_1',
  } = claims
  const scope = claims.scope ?? [...DEFAULT_SCOPES[resource], 'offline_access'].join(' ')
  return hs256(key, { typ, issuer, audience }).sign(
    { sub: USER.id, org_id: ORGANIZATION.id, client_id: CLIENT, grant_id: grantId, scope },
    system.clock,
    new Date(system.clock.getTime() + (claims.livesSeconds ?? 3600) * 1000),
  )
}

export type Era = 'of 2025' | 'of 2026'
type Sent = {
  token?: string
  headers?: Record<string, string | undefined>
  params?: Record<string, unknown>
  /** Of a client of 2026. */
  capabilities?: object
  signal?: AbortSignal
}

const MODERN = '2026-07-28'
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'hand-made', version: '0' },
}

/** One message as a client of that era writes it. */
export function send(system: FakeServices, path: string, era: Era, method: string, sent: Sent = {}) {
  const { token, params = {} } = sent
  const named = params['name'] ?? params['taskId']
  const name = typeof named === 'string' ? { 'mcp-name': named } : {}
  const all = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(era === 'of 2026' ? { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...name } : {}),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...sent.headers,
  }
  const headers = Object.entries(all).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value]],
  )
  const id = method.startsWith('notifications/') ? {} : { id: 7 }
  const given = params['_meta'] as object | undefined
  const { capabilities = {} } = sent
  const envelope = { ...ENVELOPE, 'io.modelcontextprotocol/clientCapabilities': capabilities }
  const meta = era === 'of 2026' ? { _meta: { ...given, ...envelope } } : {}
  const body = JSON.stringify({ jsonrpc: '2.0', ...id, method, params: { ...params, ...meta } })
  const { signal } = sent
  return system.app.request(`${MCP}${path}`, { method: 'POST', headers, body, ...(signal && { signal }) })
}

export const callWhoAmI = (system: FakeServices, path: string, era: Era, sent: Sent = {}) =>
  send(system, path, era, 'tools/call', { params: { name: 'whoami', arguments: {} }, ...sent })

/** One call of a tool by an agent of either era. */
export const callTool = (
  system: FakeServices,
  path: string,
  name: string,
  input: object,
  { era = 'of 2026', ...sent }: Sent & { era?: Era } = {},
) => send(system, path, era, 'tools/call', { ...sent, params: { name, arguments: input, ...sent.params } })

type Reply = {
  result?: { content?: { text: string }[]; isError?: boolean; [more: string]: unknown }
  error?: { code: number; message: string }
}

/** The answer, whether it came as JSON or as the last event of a stream. */
export async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text()
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return JSON.parse(text) as Reply
  return JSON.parse(
    text
      .match(/^data: (.+)$/gm)
      ?.at(-1)
      ?.slice('data: '.length) ?? '',
  ) as Reply
}

export async function toolText(response: Response): Promise<{ text: string; isError: boolean }> {
  const { result } = await replyOf(response)
  return { text: result?.content?.[0]?.text ?? '', isError: result?.isError ?? false }
}
