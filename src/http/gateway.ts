/** The api-gateway: validates every bearer at the auth service in charge, does what is its own (databases, data sources, activity), relays the rest. */
import type { Hono } from 'hono'
import { cors } from 'hono/cors'
import { ADDRESS_HEADER, type Service } from '../client/service.ts'
import { listActivity, reportCall, summarizeActivity } from '../contracts/activity.ts'
import { attachDatabase, createDatabase, removeDatabase, showConnection } from '../contracts/databases.ts'
import {
  describeDataSource,
  fetchFound,
  fetchHit,
  listAskableSources,
  listDataSources,
  queryDataSource,
  saveSearchConfiguration,
  searchEverywhere,
  setDataSourceState,
  setExposure,
  showDataSource,
  showQuota,
} from '../contracts/data-sources.ts'
import { OPERATIONS } from '../contracts/operations.ts'
import { whoAmI } from '../contracts/people.ts'
import {
  adoptDatabase,
  dropDatabase,
  makeDatabase,
  readConnection,
  type AttachedDatabases,
  type DatabaseNeeds,
} from '../cores/databases/index.ts'
import {
  allSources,
  ask,
  askableSources,
  askEverywhere,
  countActivity,
  describeSource,
  exposeSource,
  fetchAnywhere,
  fetchRow,
  keepReport,
  oneSource,
  readActivity,
  readQuota,
  recordRefusal,
  saveConfiguration,
  switchSource,
  type AskNeeds,
} from '../cores/search/index.ts'
import type { HttpContext, HttpEnv } from './context.ts'
import { does, mount, routePath } from './mount.ts'
import { NOTIFICATIONS, type NotificationNeeds } from './notification-table.ts'
import { openapi, type OpenApi } from './openapi.ts'
import { createServiceApp, type Observation } from './service-app.ts'
import { traced, validateElsewhere, type ValidateNeeds } from './validate-elsewhere.ts'
import { sayWho } from './who-am-i.ts'

export type GatewayNeeds = Observation &
  ValidateNeeds &
  DatabaseNeeds &
  AskNeeds &
  NotificationNeeds & {
    readonly attached: AttachedDatabases
    readonly deploy: Service
    readonly apiUrl: URL
    readonly version: string
  }

const OWN = [
  does(whoAmI, sayWho),
  does(createDatabase, makeDatabase),
  does(attachDatabase, adoptDatabase),
  does(showConnection, readConnection),
  does(removeDatabase, dropDatabase),
  does(listDataSources, allSources),
  does(showDataSource, oneSource),
  does(saveSearchConfiguration, saveConfiguration),
  does(describeDataSource, describeSource),
  does(setDataSourceState, switchSource),
  does(setExposure, exposeSource),
  does(listAskableSources, askableSources),
  does(queryDataSource, ask, recordRefusal),
  does(fetchHit, fetchRow, recordRefusal),
  does(searchEverywhere, askEverywhere, recordRefusal),
  does(fetchFound, fetchAnywhere, recordRefusal),
  does(showQuota, readQuota),
  does(reportCall, keepReport),
  does(listActivity, readActivity),
  does(summarizeActivity, countActivity),
]

export function createGateway(needs: GatewayNeeds): Hono<HttpEnv> {
  const app = createServiceApp('api-gateway', needs)
  // Bearer endpoints act on no cookie, so any page may call them; credentials never come along.
  app.use('/api/*', cors({ origin: '*', exposeHeaders: ['x-request-id', 'retry-after'], maxAge: 600 }))
  const by = { validate: validateElsewhere(needs), operatorToken: undefined }
  mount(app, OWN, needs, by)
  mount(app, NOTIFICATIONS, needs, by)
  const others = { 'auth-service': traced(needs, needs.auth), 'deploy-api': traced(needs, needs.deploy) }
  for (const op of OPERATIONS) {
    if (op.service === 'api-gateway') continue
    const service = others[op.service]
    app.on(op.http.method.toUpperCase(), routePath(op), (c) => relay(service, c, op.name))
  }
  // Made when somebody first looks: it takes longer than everything else here together.
  let document: OpenApi | undefined
  const described = () => (document ??= openapi(OPERATIONS, needs))
  app.get('/api/openapi.json', (c) => {
    c.set('route', 'openapi')
    return c.json(described())
  })
  app.get('/api/docs', async (c) => {
    c.set('route', 'docs')
    const { apiDocsPage } = await import('./api-docs.ts')
    return apiDocsPage(described())
  })
  return app
}

/** What the other services need to know of the original request; cookies and hop-by-hop headers stay here. */
const RELAYED = [
  'authorization',
  'accept',
  'content-type',
  'idempotency-key',
  'user-agent',
  'x-svc-org',
  'x-svc-client',
  ADDRESS_HEADER,
]

async function relay(service: Service, c: HttpContext, route: string): Promise<Response> {
  c.set('route', `relay ${route}`)
  c.set('isHop', true)
  const headers = new Headers({ 'x-request-id': c.get('requestId') })
  for (const name of RELAYED) {
    const value = c.req.header(name)
    if (value !== undefined) headers.set(name, value)
  }
  const { method, url, body, signal } = c.req.raw
  const response = await service(
    new Request(url, { method, headers, body, signal, ...(body ? { duplex: 'half' as const } : {}) }),
  )
  // A fetched response's headers are read-only, and its transfer encodings were undone on the way.
  const answered = new Headers(response.headers)
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding', 'connection'])
    answered.delete(name)
  return new Response(response.body, { status: response.status, headers: answered })
}
