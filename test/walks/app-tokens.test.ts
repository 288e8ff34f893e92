/** Tokens of an app: for its own app and its own scope, until they are revoked, whoever made them. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { apps, appTokens } from '../../db/schema.ts'
import { httpClient } from '../../src/client/http-client.ts'
import type { Service } from '../../src/client/service.ts'
import { createAppToken, listAppTokens, revokeAppToken } from '../../src/contracts/app-tokens.ts'
import { createApp, setAppMember } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { APP_TOKEN_CALLS, TOKENS_PER_APP } from '../../src/contracts/limits.ts'
import { pushLogs } from '../../src/contracts/logs.ts'
import { claimDeployment } from '../../src/contracts/deployments.ts'
import { removeMember } from '../../src/contracts/members.ts'
import type { Principal } from '../../src/contracts/operation.ts'
import { switchOrganization } from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import type { AppScope } from '../../src/contracts/scopes.ts'
import { validateToken } from '../../src/contracts/tokens.ts'
import { listServiceAccounts } from '../../src/contracts/workloads.ts'
import { validateAppToken } from '../../src/cores/app-tokens/index.ts'
import { requireAppWriter } from '../../src/cores/apps/index.ts'
import { recordAudit } from '../../src/cores/record-audit.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { mountOperation } from '../../src/http/mount.ts'
import { createServiceApp } from '../../src/http/service-app.ts'
import { noTracing } from '../../src/observe/tracing-port.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { untilLocked } from '../support/statements.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
let other: Org
let builder: Person
let viewer: Person
/** Of the app of one test, on which the builder builds. */
let alias: string

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api,mcp-server' })
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  ;[builder, viewer] = [await makeMember(system, org, 'viewer'), await makeMember(system, org, 'viewer')]
})

beforeEach(async () => {
  alias = await makeApp(org)
  await org.owner.call(setAppMember, { alias, user_id: builder.userId, role: 'builder' })
})

afterAll(() => system.stop())

async function makeApp({ owner }: Org): Promise<string> {
  const name = unique('shop')
  await owner.call(createApp, { alias: name, name: 'Shop' })
  return name
}

const make = ({ call }: Pick<Person, 'call'>, scope: AppScope = 'apps:report', on = alias) =>
  call(createAppToken, { alias: on, name: 'collector', scope })

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => String((error as { code?: unknown }).code),
  )

/** An operation of the scope `apps:report`, as the deploy-api has them: it writes to the app that it is called for. */
function reporting(): Service {
  const { db } = system
  const { directory } = system.system.gateway!
  const clock = () => system.clock.now()
  const app = createServiceApp('deploy-api', {
    log: system.system.log,
    metrics: undefined,
    tracing: noTracing,
    clock,
  })
  const verb = () => (principal: Principal, input: { alias: string }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = await requireAppWriter(directory, tx, principal, input.alias)
      await recordAudit(tx, clock, principal, { orgId, action: 'app.renamed', subject: input.alias })
      return { accepted: 1, rejected: 0, dropped: 0 }
    })
  mountOperation(
    app,
    pushLogs,
    verb as never,
    {},
    {
      operatorToken: undefined,
      validate: () => Promise.reject(new Error('nobody else is asked')),
      validateAppToken: validateAppToken({ db, clock, servedOrganizations: undefined }),
    },
  )
  return async (request) => app.fetch(request)
}

const report = (token: string, to = alias, organization?: string) =>
  httpClient(reporting(), { token, organization })(pushLogs, { alias: to, body: new Uint8Array([10]) })

describe('a token', () => {
  test('is shown once, and only its hash is stored', async () => {
    const made = await make(builder)
    expect(made).toMatchObject({
      name: 'collector',
      scope: 'apps:report',
      created_by: builder.name,
      last_used_at: null,
    })
    expect(made.token.startsWith(made.starts_with)).toBe(true)
    const { tokens } = await viewer.call(listAppTokens, { alias })
    const { token, ...rest } = made
    expect(tokens).toEqual([rest])
    const [row] = await system.db
      .select()
      .from(appTokens)
      .where(and(eq(appTokens.orgId, org.id), eq(appTokens.id, made.id)))
    expect(JSON.stringify(row)).not.toContain(token)
    expect(system.logLines.join('')).not.toContain(token)
  })

  test('reports for its own app, in its own name', async () => {
    const { id, token } = await make(builder)
    expect(await codeOf(report(token))).toBe('done')
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, limit: 1 })
    expect(audit[0]?.actor).toEqual({ kind: 'app_token', id: null, name: 'app token collector' })
    const { tokens } = await viewer.call(listAppTokens, { alias })
    expect(tokens.find((one) => one.id === id)?.last_used_at).not.toBeNull()
  })

  test('knows no other app, be it of its organization or of another', async () => {
    const { token } = await make(builder)
    const elsewhere = await makeApp(other)
    for (const app of [await makeApp(org), elsewhere, 'nothing']) {
      expect(await codeOf(report(token, app))).toBe('NOT_FOUND')
    }
    expect(await codeOf(report(token, elsewhere, other.id))).toBe('NOT_FOUND')
    expect(await codeOf(report(token, alias, other.id))).toBe('NOT_FOUND')
    // The same alias in another organization is another app.
    await other.owner.call(createApp, { alias, name: 'Shop' })
    const theirs = await make(other.owner)
    await report(theirs.token)
    const { audit } = await other.owner.call(listAudit, { org_id: other.id, limit: 1 })
    expect(audit[0]?.actor.kind).toBe('app_token')
  })

  test('of the other scope is refused', async () => {
    const { token } = await make(builder, 'apps:run')
    expect(await codeOf(report(token))).toBe('FORBIDDEN')
  })

  test('opens nothing where its organization is not served, as with hosted auth', async () => {
    const { token } = await make(builder)
    const served = (...ids: string[]) => {
      const deps = { db: system.db, clock: () => system.clock.now(), servedOrganizations: new Set(ids) }
      return codeOf(validateAppToken(deps)(token))
    }
    expect([await served(other.id), await served(org.id)]).toEqual(['UNAUTHENTICATED', 'done'])
  })

  test('ends with the next call after it was revoked', async () => {
    const { id, token } = await make(builder)
    await report(token)
    await builder.call(revokeAppToken, { alias, token_id: id })
    expect(await codeOf(report(token))).toBe('UNAUTHENTICATED')
    expect((await viewer.call(listAppTokens, { alias })).tokens).toEqual([])
    expect(await codeOf(builder.call(revokeAppToken, { alias, token_id: id }))).toBe('NOT_FOUND')
  })

  test('stays when whoever made it leaves', async () => {
    const leaving = await makeMember(system, org, 'viewer')
    await org.owner.call(setAppMember, { alias, user_id: leaving.userId, role: 'builder' })
    const { token } = await make(leaving)
    await org.owner.call(removeMember, { org_id: org.id, user_id: leaving.userId })
    expect(await codeOf(report(token))).toBe('done')
    expect((await viewer.call(listAppTokens, { alias })).tokens).toMatchObject([{ created_by: leaving.name }])
  })

  test('opens nothing else: no operation of the API, no MCP endpoint', async () => {
    const { token } = await make(builder)
    expect(await codeOf(system.as({ token })(whoAmI, {}))).toBe('UNAUTHENTICATED')
    expect(await codeOf(system.as()(validateToken, { token }))).toBe('UNAUTHENTICATED')
    expect(
      await codeOf(system.as({ token })(createAppToken, { alias, name: 'more', scope: 'apps:run' })),
    ).toBe('FORBIDDEN')
    for (const endpoint of ['/platform', '/notifications']) {
      const response = await system.fetch(endpoint, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      })
      expect(response.status).toBe(401)
    }
  })

  test('is counted: a flood waits, and then goes on', async () => {
    const { id, token } = await make(builder)
    const row = and(eq(appTokens.orgId, org.id), eq(appTokens.id, id))
    const full = new Date(system.clock.now().getTime() + APP_TOKEN_CALLS.seconds * 1000)
    await system.db.update(appTokens).set({ fullUntil: full }).where(row)
    await expect(report(token)).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 1 })
    system.clock.advance(1)
    expect(await codeOf(report(token))).toBe('done')
  })

  test.each(['svca_', `svca_${'a'.repeat(74)}`])('that nobody made is refused: %s', async (token) => {
    expect(await codeOf(report(token))).toBe('UNAUTHENTICATED')
  })
})

describe('through the gateway', () => {
  const through = async (token: string, to: string) =>
    codeOf(system.as({ token })(pushLogs, { alias: to, body: Buffer.from('{"level":"info","text":"up"}\n') }))
  const otlp = (token: string | undefined, body: BodyInit = '{"resourceLogs":[]}', headers = {}) =>
    system.fetch('/v1/logs', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body,
    })

  test('it reports for its own app, by every way there is', async () => {
    const [reporting, running] = [await make(builder), await make(builder, 'apps:run')]
    const second = await makeApp(org)
    expect(await through(reporting.token, alias)).toBe('done')
    expect(await through(reporting.token, second)).toBe('NOT_FOUND')
    expect(await through(running.token, alias)).toBe('FORBIDDEN')
    expect((await otlp(reporting.token)).status).toBe(200)
    const zipped = gzipSync('{"resourceLogs":[]}')
    expect((await otlp(reporting.token, zipped, { 'content-encoding': 'gzip' })).status).toBe(200)
    expect((await otlp(running.token)).status).toBe(403)
    expect((await otlp(undefined)).status).toBe(401)
    // A person’s token names no app.
    expect((await otlp(org.owner.token)).status).toBe(403)
    const claim = (token: string, to: string) =>
      codeOf(system.as({ token })(claimDeployment, { alias: to, runner: 'one' }))
    expect(await claim(running.token, alias)).toBe('done')
    expect(await claim(running.token, second)).toBe('NOT_FOUND')
    expect(await claim(reporting.token, alias)).toBe('FORBIDDEN')
    await builder.call(revokeAppToken, { alias, token_id: reporting.id })
    expect(await through(reporting.token, alias)).toBe('UNAUTHENTICATED')
    expect((await otlp(reporting.token)).status).toBe(401)
  })
})

describe('tokens are made and revoked', () => {
  test('by whoever has part in the app, and by owners and admins', async () => {
    const admin = await makeMember(system, org, 'admin')
    const developer = await makeMember(system, org, 'developer')
    for (const { call } of [builder, admin, org.owner]) {
      const { id } = await make({ call })
      await call(revokeAppToken, { alias, token_id: id })
    }
    const { id } = await make(builder)
    for (const person of [viewer, developer]) {
      expect(await codeOf(make(person))).toBe('FORBIDDEN')
      expect(await codeOf(person.call(revokeAppToken, { alias, token_id: id }))).toBe('FORBIDDEN')
    }
  })

  test('by nobody of another organization, who cannot tell whether the app exists', async () => {
    const { id } = await make(builder)
    const { call } = other.owner
    expect(await codeOf(make({ call }))).toBe('NOT_FOUND')
    expect(await codeOf(call(listAppTokens, { alias }))).toBe('NOT_FOUND')
    expect(await codeOf(call(revokeAppToken, { alias, token_id: id }))).toBe('NOT_FOUND')
  })

  test('not through another app of the same people', async () => {
    const { id } = await make(builder)
    const second = await makeApp(org)
    expect(await codeOf(org.owner.call(revokeAppToken, { alias: second, token_id: id }))).toBe('NOT_FOUND')
  })

  test('not with a token that is capped to viewing', async () => {
    const capped = await makeApiToken(system, org, org.owner, { role_cap: 'viewer' })
    expect(await codeOf(make(capped))).toBe('FORBIDDEN')
  })

  test('as many as an app may have, and those of another app do not count', async () => {
    const { id } = await make(builder)
    const isIt = and(eq(appTokens.orgId, org.id), eq(appTokens.id, id))
    const [row] = await system.db.select().from(appTokens).where(isIt)
    const copies = Array.from({ length: TOKENS_PER_APP - 1 }, () => {
      const copy = makeId('apt', 0)
      return { ...row!, id: copy, secretHash: copy }
    })
    await system.db.insert(appTokens).values(copies)
    expect(await codeOf(make(builder))).toBe('CONFLICT')
    expect(await codeOf(make(org.owner, 'apps:report', await makeApp(org)))).toBe('done')
    await builder.call(revokeAppToken, { alias, token_id: id })
    // One may be made again: of two that ask at once, each waits for the app, and the second counts the first.
    const asked = await withTransaction(system.db, async (tx) => {
      const isApp = and(eq(apps.orgId, org.id), eq(apps.alias, alias))
      await tx.select({ id: apps.id }).from(apps).where(isApp).for('update')
      const both = [codeOf(make(builder)), codeOf(make(org.owner))]
      await untilLocked(system.db, 2)
      return both
    })
    expect((await Promise.all(asked)).toSorted()).toEqual(['CONFLICT', 'done'])
  })

  test.runIf(inject('everyCase'))('not beyond the limit, however many are asked for at once', async () => {
    for (let made = 1; made < TOKENS_PER_APP; made++) await make(builder)
    const last = await Promise.all([codeOf(make(builder)), codeOf(make(org.owner)), codeOf(make(builder))])
    expect(last.toSorted()).toEqual(['CONFLICT', 'CONFLICT', 'done'])
  })
})

test('an app has no service account until one is bound, and none that another organization sees', async () => {
  expect((await builder.call(listServiceAccounts, { alias })).service_accounts).toEqual([])
  expect(await codeOf(other.owner.call(listServiceAccounts, { alias }))).toBe('NOT_FOUND')
})

test('what a standard puts under /v1 is the gateway’s', async () => {
  const response = await system.fetch('/v1/nothing', { method: 'POST' })
  expect(response.status).toBe(404)
  expect(await response.json()).toMatchObject({ error: { code: 'NOT_FOUND' } })
})

test('with an API token of a person, part in the app counts too', async () => {
  await builder.call(switchOrganization, { org_id: org.id })
  const { call } = await makeApiToken(system, org, builder)
  expect(await codeOf(make({ call }))).toBe('done')
})
