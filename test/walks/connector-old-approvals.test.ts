/** A scope that came to open more: whoever approved its earlier text does not hold it until they approve it again. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { apiTokens, platformAccessGrants } from '../../db/schema.ts'
import { listApps } from '../../src/contracts/apps.ts'
import { listGrants, narrowGrant } from '../../src/contracts/grants.ts'
import { startMaintenanceRun, updateAppMaintenance } from '../../src/contracts/maintenance.ts'
import { SCOPES, type Scope } from '../../src/contracts/scopes.ts'
import { listApiTokens } from '../../src/contracts/tokens.ts'
import {
  arrive,
  isConsent,
  newAssistant,
  preRegistered,
  startListeningSystem,
  tokensIn,
  whoami,
  type Assistant,
  type ListeningSystem,
  type Tokens,
} from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import { claimNextRun, endAs, endEverything, makeMaintainedApp, turnOn } from '../support/maintenance.ts'
import { makeApiToken, makeOrganization, unique, type Org } from '../support/make.ts'
import { newWalker } from '../support/walker.ts'

const BOTH = { scope: 'data:read maintenance:read' }

let host: DocumentHost
let system: ListeningSystem
let org: Org
beforeAll(async () => {
  host = await openDocumentHost()
  system = await startListeningSystem(
    { SVC_SERVICES: 'api-gateway,auth-service,deploy-api,mcp-server' },
    { guardedFetch: host.guardedFetch },
  )
})
beforeEach(async () => void (org = await makeOrganization(system)))
afterAll(async () => {
  await system.stop()
  host.close()
})

/** As a version before this one left it: the column has its default. */
const makeOld = (grantId: string) =>
  system.db.update(platformAccessGrants).set({ scopeEdition: 1 }).where(eq(platformAccessGrants.id, grantId))

const appList = (token: string) => use(token, 'app_list')

async function use(token: string, name: string, input: object = {}) {
  const response = await fetch(`${system.origin}/platform`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: input },
    }),
  })
  const challenge = response.headers.get('www-authenticate')
  return { status: response.status, challenge, text: await response.text() }
}

test('the consent text says that source code and log lines are included', () => {
  expect(SCOPES['maintenance:read']).toMatch(/source code.*log lines/)
})

describe('a grant from before', () => {
  let assistant: Assistant
  let tokens: Tokens
  beforeEach(async () => {
    assistant = newAssistant(system, await preRegistered(system))
    tokens = await assistant.connect(org.owner, BOTH)
    // Otherwise its absence below would prove nothing.
    const { who } = await whoami(system, tokens.access)
    if (!who?.scopes.includes('maintenance:read')) throw new Error('The scope was not granted')
    await makeOld(tokens.grantId)
  })

  test('has the scope no more: not in its next call, nor in any list, and a refresh does not bring it back', async () => {
    expect((await whoami(system, tokens.access)).who?.scopes).toEqual(['data:read'])
    const { grants } = await org.owner.call(listGrants, {})
    expect(grants).toMatchObject([{ id: tokens.grantId, scopes: ['data:read'] }])
    const next = tokensIn(await assistant.refresh(tokens.refresh))
    expect(next.scope).toBe('data:read')
    expect((await whoami(system, next.access)).who?.scopes).toEqual(['data:read'])
  })

  test('is asked for it when it needs it, and approving again gives it, to the new grant alone', async () => {
    expect(await appList(tokens.access)).toMatchObject({
      status: 403,
      challenge: expect.stringContaining('scope="maintenance:read"'),
    })
    const again = await assistant.connect(org.owner, BOTH)
    expect((await appList(again.access)).status).toBe(200)
    expect((await whoami(system, tokens.access)).who?.scopes).toEqual(['data:read'])
  })

  test('cannot be narrowed to what it does not have, and narrowing it brings nothing back', async () => {
    const narrow = (scopes: ('data:read' | 'maintenance:read')[]) =>
      org.owner.call(narrowGrant, { grant_id: tokens.grantId, scopes })
    await expect(narrow(['maintenance:read'])).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: ['scopes: maintenance:read was not approved'],
    })
    expect((await narrow(['data:read'])).scopes).toEqual(['data:read'])
    await org.owner.call(narrowGrant, { grant_id: tokens.grantId, sources: [] })
    const [row] = await system.db
      .select()
      .from(platformAccessGrants)
      .where(eq(platformAccessGrants.id, tokens.grantId))
    expect(row).toMatchObject({ scopes: ['data:read'], scopeEdition: 1 })
  })

  test('that held nothing else is still there, with nothing', async () => {
    const alone = await assistant.connect(org.owner, { scope: 'maintenance:read' })
    await makeOld(alone.grantId)
    expect((await whoami(system, alone.access)).who?.scopes).toEqual([])
    expect((await appList(alone.access)).status).toBe(403)
  })
})

/** Threat: the page that is skipped because "an earlier grant covers the request". */
test('the consent page is shown again, although nothing else has changed', async () => {
  const path = `/${unique('client')}.json`
  host.putClient(path)
  const assistant = newAssistant(system, {
    clientId: host.origin + path,
    redirectUri: `${host.origin}/callback`,
  })
  const { grantId } = await assistant.connect(org.owner, BOTH)
  const comeBack = () =>
    arrive(system, newWalker(system, { overSockets: true }), org.owner, assistant.request(BOTH).url)
  expect(isConsent(await comeBack())).toBe(false)
  await system.db
    .update(platformAccessGrants)
    .set({ scopeEdition: 1 })
    .where(eq(platformAccessGrants.clientId, assistant.clientId))
  expect(isConsent(await comeBack())).toBe(true)
  expect(grantId).toBeDefined()
})

/** One as a version before this one left it, and one of today. */
async function makeTokens(...scopes: Scope[]) {
  const [old, fresh] = [
    await makeApiToken(system, org, org.owner, { scopes }),
    await makeApiToken(system, org, org.owner, { scopes }),
  ]
  await system.db
    .update(apiTokens)
    .set({ scopeEdition: 1 })
    .where(and(eq(apiTokens.orgId, org.id), eq(apiTokens.id, old.id)))
  return { old, fresh }
}

/** Threat: a scope that stayed gives what the lost one opened. Summaries quote source and logs. */
test('what may still be started and turned on is answered without the words of a model', async () => {
  await endEverything(system)
  await turnOn(org, { cooldown_hours: 0 })
  const { alias } = await makeMaintainedApp(org)
  const start = { alias, idempotency_key: 'tonight' }
  const quoted = 'orders.js has the key 4711'
  await org.owner.call(startMaintenanceRun, start)
  await endAs(system, await claimNextRun(system), 'finding_recorded', { summary: quoted })

  const { old, fresh } = await makeTokens('maintenance:read', 'maintenance:run', 'maintenance:admin')
  for (const [{ call }, summary] of [[fresh, quoted] as const, [old, null] as const]) {
    const ended = { outcome: 'finding_recorded', summary }
    expect(await call(startMaintenanceRun, start)).toMatchObject({ ...ended, replayed: true })
    const { latest_run } = await call(updateAppMaintenance, { alias, enabled: true })
    expect(latest_run).toMatchObject(ended)
  }

  const assistant = newAssistant(system, await preRegistered(system))
  const scopes = ['maintenance:read', 'maintenance:run']
  const { access, grantId } = await assistant.connect(org.owner, { scope: scopes.join(' ') }, { scopes })
  const again = { app: alias, idempotency_key: 'tonight' }
  expect((await use(access, 'maintenance_run', again)).text).toContain(quoted)
  await makeOld(grantId)
  const { status, text } = await use(access, 'maintenance_run', again)
  expect(status).toBe(200)
  expect(text).toContain('finding_recorded')
  expect(text).not.toContain(quoted)
})

test('deciding came to include retrying: approvals from before do not hold it', async () => {
  const { old, fresh } = await makeTokens('proposals:decide')
  expect((await whoami(system, fresh.token)).who?.scopes).toEqual(['proposals:decide'])
  expect((await whoami(system, old.token)).who?.scopes).toEqual([])
})

test('an API token from before has it no more either; a new one has', async () => {
  const { old, fresh } = await makeTokens('data:read', 'maintenance:read')
  await expect(old.call(listApps, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect((await fresh.call(listApps, {})).apps).toEqual([])
  expect((await appList(old.token)).status).toBe(200)
  expect((await whoami(system, old.token)).who?.scopes).toEqual(['data:read'])
  const { tokens } = await org.owner.call(listApiTokens, {})
  expect(tokens.find(({ id }) => id === old.id)?.scopes).toEqual(['data:read'])
})
