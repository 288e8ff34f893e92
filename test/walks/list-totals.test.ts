/** The number of rows on all pages of a list, and finding tickets and agents by a text: never more than one may see. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { platformAccessGrants } from '../../db/schema.ts'
import type { Call } from '../../src/client/http-client.ts'
import { listActivity } from '../../src/contracts/activity.ts'
import { createApp, listApps, setAppMember } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { listAskableDataSources, listDataSources } from '../../src/contracts/data-sources.ts'
import { listDeliveries } from '../../src/contracts/deliveries.ts'
import { listGrants } from '../../src/contracts/grants.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { listNotifications } from '../../src/contracts/inbox.ts'
import { listMembers, removeMember } from '../../src/contracts/members.ts'
import { connectWebhook } from '../../src/contracts/integrations.ts'
import { createSubscription, listSubscriptions } from '../../src/contracts/subscriptions.ts'
import { createTicket, listTickets, searchTickets } from '../../src/contracts/tickets.ts'
import { createApiToken, listApiTokens } from '../../src/contracts/tokens.ts'
import { insertSource } from '../support/data-sources.ts'
import { insertDelivery } from '../support/deliveries.ts'
import { fakeChecks } from '../support/fake-integrations.ts'
import { makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
let other: Org
let viewer: Person

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api' }, { checks: fakeChecks })
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  viewer = await makeMember(system, org, 'viewer')
  for (const one of [org, other]) await furnish(one)
  await viewer.call(createTicket, { alias: 'shop', title: 'My own wheel', body: 'x' })
})

afterAll(() => system.stop())

/** Three of everything. */
async function furnish({ id: orgId, owner, ...rest }: Org): Promise<void> {
  const one = { id: orgId, owner, ...rest }
  await owner.call(createApp, { alias: 'shop', name: 'Shop' })
  for (const nth of [1, 2, 3]) {
    await owner.call(createApp, { alias: `app-${nth}`, name: `App ${nth}` })
    await owner.call(createTicket, { alias: 'shop', title: `Wheel ${nth} fell off`, body: 'x' })
    await owner.call(createApiToken, { name: `token ${nth}` })
    const { id: integration_id } = await owner.call(connectWebhook, {
      name: `Hook ${nth}`,
      url: `https://hooks.test/${orgId}/${nth}`,
    })
    await owner.call(createSubscription, { integration_id, pattern: `deploy.failed` })
    await insertSource(system, one, { name: `source_${nth}`, enabled: true, exposed: true })
    await insertDelivery(system, one, {})
    await insertGrant(one, nth)
  }
}

async function insertGrant({ id: orgId, owner }: Org, nth: number): Promise<void> {
  const now = system.clock.now()
  const keyEpoch = system.system.auth?.keyEpoch
  // With hosted auth there are none.
  if (keyEpoch === undefined) return
  await system.db.insert(platformAccessGrants).values({
    id: makeId('grt', now.getTime()),
    orgId,
    userId: owner.userId,
    clientId: `client-${nth}`,
    clientName: `Assistant ${nth}`,
    clientKind: 'dynamic',
    redirectHost: '127.0.0.1',
    resource: 'platform',
    scopes: ['data:read'],
    payload: {},
    keyEpoch,
    createdAt: now,
    expiresAt: new Date(now.getTime() + 3_600_000),
  })
}

type Paged = { total?: number | undefined; next_cursor?: string | undefined }
type Asked = { limit?: number; cursor?: string | undefined; count?: string }

const LISTS: Record<string, (call: Call, asked: Asked) => Promise<Paged & { rows: number }>> = {
  listActivity: async (call, asked) => rowsOf(await call(listActivity, asked), 'activity'),
  listApps: async (call, asked) => rowsOf(await call(listApps, asked), 'apps'),
  listTickets: async (call, asked) => rowsOf(await call(listTickets, { alias: 'shop', ...asked }), 'tickets'),
  listAudit: async (call, asked) => rowsOf(await call(listAudit, { org_id: org.id, ...asked }), 'audit'),
  listMembers: async (call, asked) =>
    rowsOf(await call(listMembers, { org_id: org.id, ...asked }), 'members'),
  listGrants: async (call, asked) => rowsOf(await call(listGrants, { all: 'true', ...asked }), 'grants'),
  listApiTokens: async (call, asked) => rowsOf(await call(listApiTokens, asked), 'tokens'),
  listDataSources: async (call, asked) => rowsOf(await call(listDataSources, asked), 'data_sources'),
  listAskableDataSources: async (call, asked) =>
    rowsOf(await call(listAskableDataSources, asked), 'data_sources'),
  listDeliveries: async (call, asked) => rowsOf(await call(listDeliveries, asked), 'deliveries'),
  listNotifications: async (call, asked) => rowsOf(await call(listNotifications, asked), 'notifications'),
  listSubscriptions: async (call, asked) => rowsOf(await call(listSubscriptions, asked), 'subscriptions'),
}

const rowsOf = <Name extends string>(listed: Paged & Record<Name, readonly unknown[]>, name: Name) => ({
  rows: listed[name].length,
  total: listed.total,
  next_cursor: listed.next_cursor,
})

test.each(Object.keys(LISTS))(
  '%s: every page has the number of rows of all pages, if asked',
  async (name) => {
    const list = LISTS[name]!
    const { call } = org.owner
    const whole = await list(call, { limit: 200 })
    expect(whole.total).toBeUndefined()
    expect((await list(call, { limit: 200, count: 'true' })).total).toBe(whole.rows)
    let cursor: string | undefined
    let seen = 0
    do {
      const page = await list(call, { limit: 2, cursor, count: 'true' })
      expect(page.total).toBe(whole.rows)
      seen += page.rows
      cursor = page.next_cursor
    } while (cursor !== undefined)
    expect(seen).toBe(whole.rows)
  },
)

test('only what matches the filter is counted, and only what one may see', async () => {
  const { call } = org.owner
  expect(await call(listApps, { search: 'app-', limit: 1, count: 'true' })).toMatchObject({ total: 3 })
  const mine = await viewer.call(listTickets, { alias: 'shop', limit: 1, count: 'true' })
  expect(mine).toMatchObject({ total: 1 })
})

test('tickets of all apps are found by title or id: those of apps one works on, and one’s own', async () => {
  const titles = async (call: Call, search: string) =>
    (await call(searchTickets, { search })).tickets.map(({ title }) => title)
  expect(await titles(org.owner.call, 'WHEEL')).toHaveLength(4)
  expect(await titles(viewer.call, 'wheel')).toEqual(['My own wheel'])
  const [ticket] = (await org.owner.call(searchTickets, { search: 'Wheel 2' })).tickets
  expect(ticket).toMatchObject({ app: 'shop', title: 'Wheel 2 fell off' })
  expect(await titles(viewer.call, ticket!.id)).toEqual([])
  expect(await titles(other.owner.call, ticket!.id)).toEqual([])
  expect(await titles(org.owner.call, ticket!.id)).toEqual(['Wheel 2 fell off'])
  // Wildcards are text.
  expect(await titles(org.owner.call, '%')).toEqual([])
  const builder = await makeMember(system, org, 'viewer')
  await org.owner.call(setAppMember, { alias: 'shop', user_id: builder.userId, role: 'builder' })
  expect(await titles(builder.call, 'wheel')).toHaveLength(4)
  await org.owner.call(removeMember, { org_id: org.id, user_id: builder.userId })
  await expect(titles(builder.call, 'wheel')).rejects.toMatchObject({
    code: expect.stringMatching(/^(FORBIDDEN|UNAUTHENTICATED)$/),
  })
})

test('no more tickets are answered than the limit, and it has one', async () => {
  expect((await org.owner.call(searchTickets, { search: 'wheel', limit: 2 })).tickets).toHaveLength(2)
  for (const asked of [{ search: 'wheel', limit: 21 }, { search: '' }, { search: 'x'.repeat(121) }]) {
    await expect(org.owner.call(searchTickets, asked)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  }
})

test('agents are found by client and by person, each in their own organization', async () => {
  const found = async (call: Call, search: string, all = 'true') =>
    (await call(listGrants, { all, search })).grants.map(({ client_name }) => client_name)
  expect(await found(org.owner.call, 'assistant 2')).toEqual(['Assistant 2'])
  expect(await found(org.owner.call, 'client-3')).toEqual(['Assistant 3'])
  expect(await found(viewer.call, 'assistant', 'false')).toEqual([])
  const [grant] = (await other.owner.call(listGrants, { search: 'assistant 1' })).grants
  expect(await found(other.owner.call, grant!.id)).toEqual(['Assistant 1'])
  expect(await found(org.owner.call, grant!.id)).toEqual([])
})
