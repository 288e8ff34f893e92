/**
 * Services of one process call each other with values. What they answer and log is what they answer and log over HTTP; and
 * a tool call reads once whether its credential is live, except where that could let an ended one through.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMcpServer, type McpDeps } from '../../mcp/app.ts'
import { readPublishedSkills } from '../../src/skills/read-published.ts'
import { httpClient, type CallOptions } from '../../src/client/http-client.ts'
import type { CallInProcess, Service } from '../../src/client/service.ts'
import { listApps } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import { revokeGrant } from '../../src/contracts/grants.ts'
import type { Principal } from '../../src/contracts/operation.ts'
import { listMembers } from '../../src/contracts/members.ts'
import { listOrganizations, showOrganization } from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { listApiTokens, revokeApiToken, validateToken } from '../../src/contracts/tokens.ts'
import {
  acknowledgeNotification,
  setFollow,
  updateMySubscription,
} from '../../src/cores/notifications/index.ts'
import { accessTokens } from '../../src/trust/access-token.ts'
import { actorAssertions } from '../../src/trust/actor-assertion.ts'
import {
  newAssistant,
  preRegistered,
  startListeningSystem,
  type ListeningSystem,
} from '../support/assistant.ts'
import { makeApiToken, makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'

let system: ListeningSystem
let ours: Org
let theirs: Org
let person: Person

beforeAll(async () => {
  system = await startListeningSystem({
    SVC_SERVICES: 'api-gateway,auth-service,deploy-api,mcp-server',
  })
  ;[ours, theirs] = [await makeOrganization(system), await makeOrganization(system)]
  person = await makeMember(system, ours, 'viewer')
})
afterAll(() => system.stop())

const gateway = (): Service => system.system.services.get('api-gateway')!
const overHttp =
  (service: Service): Service =>
  (request) =>
    service(request)

type Line = Record<string, unknown>
const linesSince = (start: number): Line[] =>
  system.logLines.slice(start).map((line) => JSON.parse(line) as Line)

/** The answer or the error of a call, and what was logged about it but for times. */
async function outcomeOf(call: () => Promise<unknown>) {
  const start = system.logLines.length
  const outcome = await call().catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error
    const { code, message, hint, problems, retryAfterSeconds, cause } = error
    return { code, message, hint, problems, retryAfterSeconds, cause }
  })
  const lines = linesSince(start).map(({ time: _time, ms: _ms, ...line }) => line)
  return { outcome: withoutExpiry(outcome), lines }
}

/** Of a session, whose next token would be another one. */
const withoutExpiry = (outcome: unknown): unknown =>
  JSON.parse(JSON.stringify(outcome).replaceAll(/"(last_used_at|expires_at)":"[^"]*"/g, '"$1":"…"'))

describe('over HTTP and within the process', () => {
  type Calls = Record<string, (service: Service, as: CallOptions) => Promise<unknown>>
  const calls: Calls = {
    'an operation of the gateway': (service, as) => httpClient(service, as)(whoAmI, {}),
    'one of the auth service': (service, as) => httpClient(service, as)(listOrganizations, { limit: 5 }),
    'one of the deploy-api': (service, as) => httpClient(service, as)(listApps, {}),
    'one with its organization in the path': (service, as) =>
      httpClient(service, as)(showOrganization, { org_id: ours.id }),
    'another organization in the path': (service, as) =>
      httpClient(service, as)(listMembers, { org_id: theirs.id }),
    'another organization in the header': (service, as) =>
      httpClient(service, { ...as, organization: theirs.id })(whoAmI, {}),
    'an operation for admins': (service, as) => httpClient(service, as)(listAudit, { org_id: ours.id }),
    'a filter': (service, as) => httpClient(service, as)(listApiTokens, { all: 'false', search: 'n/a ß' }),
    'an id of nothing': (service, as) =>
      httpClient(service, as)(revokeApiToken, { token_id: `tok_${'1'.repeat(25)}` }),
    'an id that is none': (service, as) => httpClient(service, as)(revokeApiToken, { token_id: 'x' }),
    'a wrong input': (service, as) => httpClient(service, as)(listApps, { limit: 100_000 }),
    'the validation of a token': (service, as) =>
      httpClient(service, { ...as, token: undefined })(validateToken, { token: person.token }),
    'the validation of a bearer': (service, as) => httpClient(service, as)(validateToken, {}),
  }
  const bearers: Record<string, () => string | undefined> = {
    'a member': () => person.token,
    'a stranger to the organization': () => theirs.owner.token,
    'an owner': () => ours.owner.token,
    nobody: () => undefined,
    'a bad token': () => 'svc_bad',
  }
  test.each(Object.keys(bearers))('%s gets the same answers and leaves the same lines', async (who) => {
    const as: CallOptions = {
      token: bearers[who]!(),
      requestId: 'req_of_the_walk',
      address: '192.0.2.9',
      entryPoint: 'cli',
    }
    for (const [name, call] of Object.entries(calls)) {
      const direct = await outcomeOf(() => call(gateway(), as))
      const wire = await outcomeOf(() => call(overHttp(gateway()), as))
      expect(direct, name).toEqual(wire)
      expect(direct.lines.length, name).toBeGreaterThan(0)
    }
  })
})

/** An MCP server of this process, whose calls of the gateway the test may watch. */
function mcpServer({ isSplit = false, watch = (call: () => Promise<unknown>) => call() } = {}) {
  const { services, config, log } = system.system
  const watched: CallInProcess = (operation, input, options) => {
    const call = () => services.get('api-gateway')!.callInProcess!(operation, input, options)!
    return operation.name === 'showQuota' ? watch(call) : call()
  }
  const ofGateway = overHttp(services.get('api-gateway')!)
  const deps: McpDeps = {
    auth: isSplit ? overHttp(services.get('auth-service')!) : services.get('auth-service')!,
    gateway: isSplit ? ofGateway : Object.assign(ofGateway, { callInProcess: watched }),
    mcpUrl: config.MCP_URL,
    appUrl: config.APP_URL,
    issuer: config.AUTH_URL,
    authMode: 'self',
    enterpriseAuth: true,
    servedOrganizations: undefined,
    stepUp: 'challenge',
    accessTokens: accessTokens(config.JWT_SECRET!, config.AUTH_URL.origin),
    actorAssertions: actorAssertions(config.ACTOR_ASSERTION_SECRET!, config.AUTH_URL.origin),
    allowedOrigins: [],
    skills: readPublishedSkills(),
    clock: () => system.clock.now(),
    version: '0',
    log,
  }
  const app = createMcpServer(deps)
  return async (token: string, messages = 1) => {
    const message = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'whoami', arguments: {} } }
    const all = Array.from({ length: messages }, (_, id) => ({ ...message, id }))
    const start = system.logLines.length
    const response = await app.request(new URL('/platform', config.MCP_URL).href, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body: JSON.stringify(messages === 1 ? all[0] : all),
    })
    const text = await response.text()
    const reads = linesSince(start).filter(({ route }) => route === 'validateToken').length
    return { status: response.status, text, reads }
  }
}

async function connect() {
  const assistant = newAssistant(system, await preRegistered(system))
  const { access, grantId } = await assistant.connect(person, { scope: 'data:read' })
  const revoke = () => person.call(revokeGrant, { grant_id: grantId })
  return { token: access, credential: { grantId }, revoke }
}

async function connectApiToken() {
  const { id, token } = await makeApiToken(system, ours, person)
  const revoke = () => person.call(revokeApiToken, { token_id: id })
  return { token, credential: { tokenId: id }, revoke }
}

describe.each([
  ['a grant', connect],
  ['an API token', connectApiToken],
])('%s', (_kind, connected) => {
  test('is read once for a tool call, and anew for the next one', async () => {
    const call = mcpServer()
    const { token, revoke } = await connected()
    const reads: number[] = []
    for (let made = 0; made < 5; made += 1) reads.push((await call(token)).reads)
    // On a busy machine one of them may take longer than an answer is fresh.
    expect(Math.min(...reads)).toBe(1)
    await revoke()
    expect(await call(token)).toMatchObject({ status: 401, reads: 1 })
  })

  test('is read by the gateway too where that is another process', async () => {
    const { token } = await connected()
    expect(await mcpServer({ isSplit: true })(token)).toMatchObject({ status: 200, reads: 3 })
  })

  test('is read anew for each message of a batch, however fast they are', async () => {
    const call = mcpServer()
    const { token } = await connected()
    // For each of them once to count it, and twice by what it calls.
    expect(await call(token, 3)).toMatchObject({ status: 200, reads: 9 })
  })

  test('that ends between two messages of a batch has no answer to the second', async () => {
    const { token, revoke } = await connected()
    let revoked: Promise<unknown> | undefined
    const call = mcpServer({
      async watch(answer) {
        // How many run at a time depends on how fast the machine is: the others are held up until it has ended.
        if (revoked) return revoked.then(answer)
        const answered = answer()
        revoked = answered.then(revoke)
        await revoked
        return answered
      },
    })
    const { status, text } = await call(token, 3)
    expect(status).toBe(200)
    expect(text).toContain(ours.id)
    expect(text).toContain('UNAUTHENTICATED')
  })

  /** It was live when the gateway asked, and ended before the write began. */
  test('that has ended writes nothing more, whoever was asked before', async () => {
    const { credential, revoke } = await connected()
    const { userId } = person
    const principal: Principal = {
      kind: 'actor',
      userId,
      userName: 'Ada',
      userEmail: null,
      orgId: ours.id,
      organization: null,
      role: 'viewer',
      carriesAppRoles: true,
      scopes: ['notifications:write'],
      audiences: ['api'],
      expiresAt: null,
      sources: null,
      entryPoint: 'mcp',
      address: '192.0.2.9',
      requestId: 'req_of_the_walk',
      ...credential,
    }
    const deps = system.system.gateway!
    const writes = [
      () => setFollow(deps)(principal, { alias: 'none', categories: [], frequency: 'daily' }),
      () => acknowledgeNotification(deps)(principal, { notification_id: `ntf_${'1'.repeat(25)}` }),
      () =>
        updateMySubscription(deps)(principal, { subscription_id: `sub_${'1'.repeat(25)}`, enabled: true }),
    ]
    for (const write of writes) await expect(write()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await revoke()
    for (const write of writes) await expect(write()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })
})
