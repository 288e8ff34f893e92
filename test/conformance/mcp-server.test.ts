/**
 * The official conformance suite for MCP servers, against a server with the suite's own tools behind the product's
 * front: the listener with its Host check, Origins, bearer tokens and their grants.
 */
import { readFile } from 'node:fs/promises'
import { request as ask, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createMcpServer } from '../../mcp/app.ts'
import type { McpDeps } from '../../mcp/dependencies.ts'
import { createServiceApp } from '../../src/http/service-app.ts'
import { noTracing } from '../../src/observe/tracing-port.ts'
import { listen, type Listening } from '../../src/boot/listener.ts'
import { readPublishedSkills } from '../../src/skills/read-published.ts'
import type { System } from '../../src/boot/system.ts'
import { accessTokens } from '../../src/trust/access-token.ts'
import { actorAssertions } from '../../src/trust/actor-assertion.ts'
import { newAssistant, preRegistered } from '../support/assistant.ts'
import { conformanceServer } from '../support/conformance-fixture.ts'
import { outcomeOf, proxyAdding, runSuite, SUITE, type Outcome } from '../support/conformance-suite.ts'
import { makeOrganization } from '../support/make.ts'
import { freePort } from '../support/free-port.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const BASELINE = fileURLToPath(new URL('mcp-server-2025-11-25.yaml', import.meta.url))

let system: TestSystem
let listening: Listening
let proxy: Server
let origin: string
let suiteUrl: string
beforeAll(async () => {
  const port = await freePort()
  origin = `http://localhost:${port}`
  system = await startSystem({
    PORT: String(port),
    SVC_SERVICES: 'api-gateway,auth-service,mcp-server',
    STOP_SECONDS: '0',
  })
  listening = await listen(withSuiteTools(system.system))
  const { owner } = await makeOrganization(system)
  const assistant = newAssistant({ ...system, origin }, await preRegistered(system))
  const { access } = await assistant.connect(owner, { resource: `${origin}/platform`, scope: 'data:read' })
  proxy = await proxyAdding(`Bearer ${access}`, new URL(origin))
  suiteUrl = `http://localhost:${(proxy.address() as AddressInfo).port}/platform`
})
afterAll(async () => {
  proxy?.closeAllConnections()
  proxy?.close()
  await listening?.stop()
  await system?.stop()
})

test('nobody gets to the tools of the suite without a token, from a foreign page or under a foreign name', async () => {
  expect(await statusOf(origin, {})).toBe(401)
  expect(await statusOf(suiteUrl, { origin: 'https://evil.example' })).toBe(403)
  expect(await statusOf(suiteUrl, { host: 'evil.example' })).toBe(421)
  expect(await statusOf(suiteUrl, {})).toBe(200)
})

test('every scenario that 2026-07-28 requires of servers passes', () => expectAllOf('2026-07-28', []))

test('every scenario that 2025-11-25 requires passes, but for those the baseline gives a reason for', async () => {
  const { server } = parse(await readFile(BASELINE, 'utf8')) as { server: string[] }
  await expectAllOf('2025-11-25', server)
})

/** What the suite tries only with a session, and therefore not here. */
test('streams of a 2025 client that are open at the same time each carry their own answer', async () => {
  const streams = [1, 2, 3].map(async (id) => {
    const response = await fetch(suiteUrl, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: 'test_tool_with_progress', arguments: {}, _meta: { progressToken: `token ${id}` } },
      }),
    })
    const said = [...(await response.text()).matchAll(/^data: (.+)$/gm)].map(
      ([, data]) => JSON.parse(data!) as { id?: number; params?: { progressToken: string } },
    )
    return said.map((message) => message.id ?? message.params?.progressToken)
  })
  const ofOne = (id: number) => [`token ${id}`, `token ${id}`, `token ${id}`, id]
  expect(await Promise.all(streams)).toEqual([1, 2, 3].map(ofOne))
})

/**
 * Without a baseline nothing may even be warned of. An entry of it that has come to pass is a lie, of which the suite
 * complains itself.
 */
async function expectAllOf(revision: string, baseline: readonly string[]) {
  const options = baseline.length > 0 ? ['--expected-failures', BASELINE] : []
  const { code, output, found } = await runSuite(suiteUrl, ['--requirements', revision, ...options])
  const required = await requiredBy(revision)
  expect(required.length).toBeGreaterThanOrEqual(30)
  const wantedOf = (name: string): Outcome => {
    if (baseline.includes(name)) return 'failed'
    return baseline.some((entry) => entry.startsWith(`${name}:`)) ? 'warned' : 'passed'
  }
  // Said by name: a scenario that was left out must not pass for a good one.
  const seen = required.map((name) => [name, outcomeOf(found.get(name))])
  const faults = required.flatMap((name) => (found.get(name) ?? []).map(({ errorMessage }) => errorMessage))
  expect(Object.fromEntries(seen), faults.filter(Boolean).join('\n')).toEqual(
    Object.fromEntries(required.map((name) => [name, wantedOf(name)])),
  )
  expect(code, output).toBe(0)
}

async function requiredBy(revision: string): Promise<string[]> {
  const path = join(dirname(SUITE), '..', 'requirements', `${revision}.yaml`)
  return (parse(await readFile(path, 'utf8')) as { server: string[] }).server
}

/** The same system, in which only what the MCP server offers is another. */
function withSuiteTools({ services, config, log, ...rest }: System): System {
  const [auth, gateway] = [services.get('auth-service')!, services.get('api-gateway')!]
  const issuer = config.AUTH_URL
  const observation = { log, metrics: undefined, tracing: noTracing, clock: () => system.clock.now() }
  const deps: McpDeps = {
    ...observation,
    auth,
    gateway,
    servedOrganizations: undefined,
    enterpriseAuth: config.ENTERPRISE_AUTH,
    mcpUrl: config.MCP_URL,
    appUrl: config.APP_URL,
    issuer,
    authMode: config.AUTH_MODE,
    stepUp: config.MCP_STEP_UP,
    accessTokens: accessTokens(config.JWT_SECRET!, issuer.origin),
    actorAssertions: actorAssertions(config.ACTOR_ASSERTION_SECRET!, issuer.origin),
    allowedOrigins: config.MCP_ALLOWED_ORIGINS,
    skills: readPublishedSkills(),
    version: '0',
  }
  const app = createServiceApp('mcp-server', observation).route('/', createMcpServer(deps, conformanceServer))
  const own = new Map(services).set('mcp-server', async (request) => app.fetch(request))
  return { ...rest, config, log, services: own }
}

/** By node:http, because fetch does not let anybody choose a Host. */
function statusOf(base: string, headers: Record<string, string>): Promise<number | undefined> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
  const usual = { 'content-type': 'application/json', accept: 'application/json' }
  return new Promise((resolve, reject) => {
    ask(new URL('/platform', base), { method: 'POST', headers: { ...usual, ...headers } }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
      .once('error', reject)
      .end(body)
  })
}
