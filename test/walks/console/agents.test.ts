/** The pages of connected agents, their clients, and machine agents: who sees which, narrowing, and ending them. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eq } from '../../../db/drizzle.ts'
import { activity, grantUses, machineAgents, platformAccessGrants } from '../../../db/schema.ts'
import { showGrant } from '../../../src/contracts/grants.ts'
import { makeId } from '../../../src/contracts/ids.ts'
import { listMachineAgents, showMachineAgent } from '../../../src/contracts/machine-agents.ts'
import { removeMember } from '../../../src/contracts/members.ts'
import { updateOrganization } from '../../../src/contracts/organizations.ts'
import { SCOPE_EDITION } from '../../../src/contracts/scopes.ts'
import { openConsole } from '../../support/console.ts'
import { insertSource } from '../../support/data-sources.ts'
import { makeMachineAgent, newKeyPair } from '../../support/machine-agents.ts'
import { makeMember, makeOrganization, type Org, type Person } from '../../support/make.ts'
import { startSystem, type TestSystem } from '../../support/system.ts'

let system: TestSystem
beforeAll(async () => void (system = await startSystem()))
afterAll(() => system.stop())

type GrantRow = Partial<typeof platformAccessGrants.$inferInsert>
const ASSISTANT = 'https://assistant.example/client.json'
const HOSTILE = '</strong><script>alert(1)</script>"\'>'

/** As somebody's approval leaves it. */
async function insertGrant(org: Org, person: Person, row: GrantRow = {}): Promise<string> {
  const now = system.clock.now()
  const id = makeId('grt', now.getTime())
  await system.db.insert(platformAccessGrants).values({
    id,
    orgId: org.id,
    userId: person.userId,
    clientId: ASSISTANT,
    clientKind: 'metadata_document',
    clientName: 'Assistant',
    redirectHost: 'assistant.example',
    resource: 'platform',
    scopes: ['data:read', 'maintenance:read', 'proposals:decide'],
    scopeEdition: SCOPE_EDITION,
    payload: {},
    keyEpoch: system.system.auth!.keyEpoch,
    createdAt: now,
    expiresAt: new Date(now.getTime() + 30 * 86_400_000),
    ...row,
  })
  return id
}

async function scene() {
  const org = await makeOrganization(system)
  const [adminPerson, viewerPerson] = [
    await makeMember(system, org, 'admin'),
    await makeMember(system, org, 'viewer'),
  ]
  const desk = {
    clientId: `desk-${org.slug}`,
    clientKind: 'pre_registered',
    clientName: 'Desk',
    redirectHost: 'desk.example',
  } as const
  return {
    org,
    desk,
    people: { admin: adminPerson, viewer: viewerPerson },
    owner: await openConsole(system, org.owner),
    admin: await openConsole(system, adminPerson),
    viewer: await openConsole(system, viewerPerson),
    stored: (grant_id: string) => org.owner.call(showGrant, { grant_id }),
  }
}

describe('connected agents', () => {
  test('whoever has none is led to connecting one; everyone finds their own, admins everybody’s', async () => {
    const { org, people, viewer, admin, desk } = await scene()
    const none = await viewer.open('/console/agents')
    expect(none.text).toContain('You have not connected an assistant yet')
    expect(none.html).toContain('href="/console/connect"')
    const own = await insertGrant(org, people.viewer)
    const other = await insertGrant(org, org.owner, desk)
    for (const path of ['/console/agents', '/console/agents?all=true']) {
      const page = await viewer.open(path)
      expect(page.html).toContain(`href="/console/agents/${own}"`)
      expect(page.html).not.toMatch(/Desk|All agents|\/console\/agents\/clients/)
    }
    expect((await viewer.open(`/console/agents/${other}`)).status).toBe(404)
    expect((await viewer.open('/console/agents/grt_unknown')).status).toBe(404)
    // With none of their own, admins see those of all.
    const all = await admin.open('/console/agents')
    expect(all.rows).toHaveLength(2)
    expect(all.row('assistant.example')).toMatch(/^assistant\.example \(“Assistant”\) verified host/)
    expect(all.row('assistant.example')).toContain('Query data, Read apps, Decide proposals | All |')
    const mine = await all.form('Filter').with({ all: 'false' }).submit()
    expect(mine.rows).toEqual([])
    const one = await all.form('Filter').with({ client_id: desk.clientId }).submit()
    expect(one.rows).toHaveLength(1)
    expect((await all.form('Filter').with({ search: 'desk' }).submit()).rows).toHaveLength(1)
    expect((await admin.open('/console/agents?client_id=nobody')).text).toContain('No matching agents')
    expect((await admin.open(`/console/agents?client_id=${encodeURIComponent('ä b')}`)).status).toBe(200)
    const back = one.path
    const gone = await one.form('Disconnect agent', other).submit()
    expect(gone.path).toBe(back)
    expect(gone.rows).toEqual([])
  })

  test.runIf(inject('everyCase'))('are paged with the filters, and say while agents are off', async () => {
    const { org, admin, viewer, people } = await scene()
    for (let n = 0; n < 51; n++) await insertGrant(org, org.owner)
    const page = await admin.open(`/console/agents?all=true&client_id=${encodeURIComponent(ASSISTANT)}`)
    const next = page.link('Next page')
    expect(next).toContain(`all=true&client_id=${encodeURIComponent(ASSISTANT)}&cursor=`)
    expect((await admin.open(next)).rows).toHaveLength(1)
    await insertGrant(org, people.viewer)
    expect(page.text).not.toContain('Agents are turned off')
    await org.owner.call(updateOrganization, { org_id: org.id, agents_enabled: false })
    const off = await admin.open('/console/agents')
    expect(off.text).toContain('Agents are turned off')
    expect(off.link('turned on')).toBe('/console/settings/security')
    const theirs = await viewer.open('/console/agents')
    expect(theirs.text).toContain('until an admin turns them on again')
    expect(theirs.offers('turned on')).toBe(false)
  })
})

describe('one agent', () => {
  test('says who it is, what it called, until when, and to whom', async () => {
    const { org, people, viewer, admin } = await scene()
    const id = await insertGrant(org, people.viewer)
    expect((await viewer.open(`/console/agents/${id}`)).text).toContain('No calls yet')
    const now = system.clock.now()
    const call = {
      orgId: org.id,
      at: now,
      type: 'function',
      name: 'whoami',
      userId: people.viewer.userId,
      userName: people.viewer.name,
      entryPoint: 'mcp',
      outcome: 'answered',
      durationMs: 41,
      questionBytes: 38,
      answerBytes: 5_200,
      requestId: 'req_1',
    } as const
    await system.db.insert(activity).values([
      { ...call, id: makeId('act', now.getTime()), grantId: id },
      { ...call, id: makeId('act', now.getTime()), grantId: 'grt_other', name: 'of another' },
    ])
    const page = await viewer.open(`/console/agents/${id}`)
    expect(page.text).toContain('assistant.example verified host calls itself “Assistant” , unverified')
    expect(page.text).toContain('Approve, deny or retry proposed changes')
    expect(page.text).toContain('or after 30 days without a call')
    expect(page.labels.join()).toContain('Calls per day, 1 Feb to 2 Mar')
    expect(page.row('whoami')).toMatch(/whoami.*answered.*41 ms.*38 B → 5\.1 KiB/)
    expect(page.text).not.toContain('of another')
    expect(page.html).toContain(`/console/activity?agent=${id}`)
    expect(page.html).toContain(`href="/console/activity?type=function&amp;agent=${id}&amp;outcome=refused"`)
    const today = now.toISOString().slice(0, 10)
    const itsDay = await viewer.open(`/console/agents/${id}/day?day=${today}`)
    expect(itsDay.text).toMatch(/1 call.*Called whoami 1 time/s)
    expect((await viewer.open(`/console/agents/${id}/day?day=2020-01-01`)).text).toContain(
      'No calls on this day',
    )
    const colleague = await openConsole(system, await makeMember(system, org, 'developer'))
    const unknown = `/console/agents/grt_${'0'.repeat(25)}/day`
    const words = async (path: string) => (await colleague.open(path)).text.replace(/req_\w+/, '')
    expect(await words(`/console/agents/${id}/day`)).toBe(await words(unknown))
    expect((await admin.open(`/console/agents/${id}`)).text).toContain(
      `Acts for ${people.viewer.name} in ${org.name}.`,
    )
    const local = await insertGrant(org, people.viewer, {
      clientKind: 'dynamic',
      clientId: 'dyn',
      clientName: HOSTILE,
      redirectHost: '127.0.0.1',
    })
    for (const path of ['/console/agents', `/console/agents/${local}`]) {
      const shown = await viewer.open(path)
      expect(shown.html).not.toContain('<script>alert')
      expect(shown.text).toContain('<script>alert(1)')
    }
    expect((await viewer.open(`/console/agents/${local}`)).text).toContain(
      'self-declared name, unverified; redirects to 127.0.0.1',
    )
    const ended = await insertGrant(org, people.viewer, { revokedAt: now, revokedReason: 'reuse_detected' })
    const over = await viewer.open(`/console/agents/${ended}`)
    expect(over.text).toContain('This agent has no access any more. One of its tokens was used twice')
    expect(over.offers('Disconnect agent')).toBe(false)
    expect(over.offers('Save permissions')).toBe(false)
  })

  test('is narrowed to what stays ticked; nothing ticked changes nothing', async () => {
    const { org, viewer, people, stored } = await scene()
    const id = await insertGrant(org, people.viewer)
    const path = `/console/agents/${id}`
    const form = (await viewer.open(path)).form('Save permissions')
    expect(form.value('scopes')).toBe('data:read maintenance:read proposals:decide')
    const none = await form.with({ scopes: [] }).submit()
    expect(none.notices[0]).toContain('or disconnect the agent')
    expect((await stored(id)).scopes).toHaveLength(3)
    const saved = await form.with({ scopes: ['data:read'] }).submit()
    expect([saved.path, saved.notices]).toEqual([path, ['Permissions saved.']])
    expect((await stored(id)).scopes).toEqual(['data:read'])
    // With one thing left there is nothing to narrow, only to disconnect.
    expect(saved.offers('Save permissions')).toBe(false)
    const gone = await saved.form('Disconnect agent').submit()
    expect(gone.path).toBe(path)
    expect(gone.text).toContain('This agent has no access any more')
  })

  test('what it does not use is taken by one click', async () => {
    const { org, people, viewer, stored } = await scene()
    const source = { enabled: true, exposed: true }
    const handbook = await insertSource(system, org, { name: 'handbook', title: 'Handbook', ...source })
    await insertSource(system, org, { name: 'prices', title: 'Prices', ...source })
    const now = system.clock.now().getTime()
    const at = (daysAgo: number) => new Date(now - daysAgo * 86_400_000)
    const id = await insertGrant(org, people.viewer, { createdAt: at(40), usesSince: at(40) })
    const path = `/console/agents/${id}`
    const used = { orgId: org.id, grantId: id, calls: 7 }
    await system.db.insert(grantUses).values([
      { ...used, scope: 'data:read', sourceId: handbook.id, lastUsedAt: at(1) },
      { ...used, scope: 'maintenance:read', sourceId: '', lastUsedAt: at(31) },
    ])
    const page = await viewer.open(path)
    expect(page.notices.join()).toMatch(
      /not been used for 30 days.*Read apps.*Approve.*1 data source: Prices/,
    )
    expect(page.text).toContain('7 calls, last')
    // What is previewed is what the button does.
    const previewed = await viewer.open(`/console/access?grant_id=${id}&used_within_days=35`)
    const wider = await previewed.form('Narrow to what it used').submit()
    expect(wider.notices[0]).toBe('Narrowed to what it used.')
    expect((await stored(id)).scopes).toEqual(['data:read', 'maintenance:read'])
    const both = await viewer.open(`/console/access?grant_id=${id}&scopes=data:read&sources=db_handbook`)
    expect([both.status, both.offers('Save permissions'), both.offers('Limit data sources')]).toEqual([
      200,
      false,
      false,
    ])
    const narrowed = await page.form('Narrow to what it used').submit()
    expect([narrowed.path, narrowed.notices[0]]).toEqual([path, 'Narrowed to what it used.'])
    expect(narrowed.offers('Narrow to what it used')).toBe(false)
    expect(await stored(id)).toMatchObject({
      scopes: ['data:read'],
      sources: [{ source_id: 'db_handbook' }],
    })
    const young = await insertGrant(org, people.viewer, { usesSince: at(29) })
    expect((await viewer.open(`/console/agents/${young}`)).offers('Narrow to what it used')).toBe(false)
  })

  test('is limited to the data sources that are ticked', async () => {
    const { org, people, viewer, admin, stored } = await scene()
    const row = { enabled: true, exposed: true }
    for (const name of ['handbook', 'catalog', 'prices'])
      await insertSource(system, org, { name, title: name, ...row })
    const id = await insertGrant(org, people.viewer)
    const path = `/console/agents/${id}`
    const button = 'Limit data sources'
    const form = (await viewer.open(path)).form(button)
    expect([form.value('which'), form.value('sources')]).toEqual(['all', ''])
    expect((await form.with({ sources: ['db_handbook'] }).submit()).notices).toEqual([])
    expect((await form.with({ which: 'chosen' }).submit()).notices[0]).toContain(
      'Keep at least one data source',
    )
    expect((await stored(id)).sources).toBeNull()
    const two = await form.with({ which: 'chosen', sources: ['db_handbook', 'db_catalog'] }).submit()
    expect(two.notices).toEqual(['Data sources saved.'])
    const narrower = two.form(button)
    expect(narrower.choices('sources').toSorted()).toEqual(['db_catalog', 'db_handbook'])
    const left = await narrower.with({ sources: ['db_catalog'] }).submit()
    expect((await stored(id)).sources).toMatchObject([{ source_id: 'db_catalog' }])
    // One is left: there is nothing to take away but the agent itself.
    expect(left.offers(button)).toBe(false)
    // Of a page from before it was narrowed.
    expect((await narrower.with({ sources: ['db_handbook'] }).submit()).notices[0]).toContain(
      'only be narrowed',
    )
    expect((await stored(id)).sources).toMatchObject([{ source_id: 'db_catalog' }])
    expect((await admin.open(path)).text).toContain('catalog')
    const without = await insertGrant(org, people.viewer, { scopes: ['maintenance:read'] })
    expect((await viewer.open(`/console/agents/${without}`)).offers(button)).toBe(false)
  })
})

describe('access', () => {
  test('an agent’s is shown with what stands against it, and before it is narrowed what it will lose', async () => {
    const { org, people, viewer, admin, stored } = await scene()
    for (const name of ['handbook', 'prices'])
      await insertSource(system, org, { name, title: name, enabled: true, exposed: true })
    await insertSource(system, org, { name: 'secret', title: 'secret' })
    const id = await insertGrant(org, people.viewer)
    const shown = await admin.open(`/console/access?grant_id=${id}`)
    expect(shown.row('db_handbook')).toContain('Yes | All')
    expect(shown.row('db_secret')).toContain('No | None | the data source is off; it is not exposed')
    expect(shown.row('proposal_decide')).toContain('No | the role is too low')
    // What is hidden from viewers does not exist for them.
    expect((await viewer.open(`/console/access?grant_id=${id}`)).text).not.toContain('secret')
    const page = await viewer.open(`/console/agents/${id}`)
    const form = page
      .form('Show what is lost', 'Only selected')
      .with({ which: 'chosen', sources: ['db_handbook'] })
    const before = await form.submit()
    expect(before.notices.join()).toContain('Will lose: 1 data source: prices')
    expect((await stored(id)).sources).toBeNull()
    const saved = await before.form('Limit data sources').submit()
    expect(saved.path).toBe(`/console/agents/${id}`)
    expect((await stored(id)).sources).toMatchObject([{ source_id: 'db_handbook' }])
    const fewer = saved.form('Show what is lost', 'maintenance:read').with({ scopes: ['data:read'] })
    expect((await fewer.submit()).text).toContain('3 tools: app_list, maintenance_status, proposal_show')
  })

  test('an agent whose calls are refused reaches nothing; one that nobody knows has no page', async () => {
    const { org, people, admin, viewer } = await scene()
    const id = await insertGrant(org, people.admin)
    const path = `/console/access?grant_id=${id}`
    const refusal = 'All its calls are refused'
    expect((await admin.open(path)).text).not.toContain(refusal)
    await org.owner.call(updateOrganization, { org_id: org.id, agents_enabled: false })
    const shown = await admin.open(path)
    expect([shown.status, shown.rows.length]).toEqual([200, 0])
    expect(shown.text).toContain(refusal)
    expect(shown.form('Show').value('grant_id')).toBe(id)
    const off = await admin.open('/console/agents')
    expect(off.text).toContain('Agents are turned off')
    expect(off.link('turned on')).toBe('/console/settings/security')
    const theirs = await viewer.open('/console/agents')
    expect(theirs.text).toContain('until an admin turns them on again')
    expect(theirs.offers('turned on')).toBe(false)
    const hidden = await viewer.open(path)
    expect([hidden.status, hidden.text.includes(refusal)]).toEqual([404, false])
  })

  test('a role is tried before it is given; nobody else’s access is shown to a viewer', async () => {
    const { org, people, admin, viewer, owner } = await scene()
    await insertSource(system, org, {
      name: 'plans',
      title: 'Plans',
      enabled: true,
      exposed: true,
      minimumRole: 'admin',
    })
    const { userId } = people.admin
    const page = await owner.open('/console/members')
    const lowered = await page.form('Show what changes', userId).with({ role: 'viewer' }).submit()
    expect(lowered.notices.join()).toContain('Will lose: 1 data source: Plans')
    expect(lowered.notices.join()).toMatch(/\(.*@.*\): Admin then Viewer/)
    const raised = await owner.open(`/console/access?user_id=${people.viewer.userId}&role=admin`)
    expect([raised.status, raised.offers('Save role')]).toEqual([200, false])
    const saved = await lowered.form('Save role').submit()
    expect(saved.notices).toEqual(['Role changed to Viewer.'])
    expect((await owner.open(`/console/access?user_id=${userId}`)).row('db_plans')).toContain('No')
    // As a viewer they know of none that is above their role.
    expect((await admin.open(`/console/access?user_id=${userId}`)).text).not.toContain('db_plans')
    expect((await viewer.open(`/console/access?user_id=${org.owner.userId}`)).status).toBe(404)
  })
})

describe('agent clients', () => {
  const PATH = '/console/agents/clients'

  test('are for admins: each is blocked and let in again, also one that nobody has connected', async () => {
    const { org, viewer, admin, desk, people } = await scene()
    expect((await viewer.open(PATH)).status).toBe(403)
    expect((await admin.open(PATH)).text).toContain('No clients yet')
    const id = await insertGrant(org, people.viewer, desk)
    const page = await admin.open(PATH)
    expect(page.html).toContain(`/console/agents?all=true&amp;client_id=${desk.clientId}`)
    const blocked = await page.form('Block client', desk.clientId).submit()
    expect(blocked.notices).toEqual(['Client blocked.'])
    expect((await viewer.open(`/console/agents/${id}`)).text).toMatch(/blocked|no access any more/)
    const unblocked = await blocked.form('Unblock client', desk.clientId).submit()
    expect(unblocked.rows.join()).not.toContain('Unblock')
    const refused = await unblocked.form('Block').with({ client_id: 'bad <id>' }).submit()
    expect([refused.status, Object.keys(refused.problems)]).toEqual([400, ['client_id']])
    expect(refused.form('Block').value('client_id')).toBe('bad <id>')
    const machine = await makeMachineAgent(org.owner, { name: 'Nightly' })
    await refused.form('Block').with({ client_id: machine.client_id }).submit()
    expect((await admin.open(`/console/agents/machine/${machine.id}`)).text).toContain(
      'This machine agent is blocked. It has no access until an admin unblocks it',
    )
    const ahead = await refused.form('Block').with({ client_id: ' https://new.example/client.json' }).submit()
    expect(ahead.text).toContain('new.example')
    // Nothing was ever read from it, so nothing about it is proven.
    expect(ahead.row('new.example')).not.toContain('verified host')
  })
})

describe('machine agents', () => {
  const PATH = '/console/agents/machine'
  const all = async (org: Org) => (await org.owner.call(listMachineAgents, {})).machine_agents

  test('whoever has none is led to making one; members find those they answer for, and make none', async () => {
    const { org, owner, viewer, people } = await scene()
    const none = await owner.open(PATH)
    expect(none.text).toContain('No machine agents yet')
    expect(none.html).toContain(`href="${PATH}/new"`)
    const own = await makeMachineAgent(org.owner, { name: 'Nightly report', owner_id: people.viewer.userId })
    const other = await makeMachineAgent(org.owner, { name: HOSTILE })
    const page = await owner.open(PATH)
    expect(page.row('Nightly report')).toMatch(
      new RegExp(`^Nightly report.*${people.viewer.name} \\| Viewer .* Active`),
    )
    expect(page.html).not.toContain('<script>alert')
    expect((await owner.open(`${PATH}/${other.id}`)).html).not.toContain('<script>alert')
    const found = await page.form('Filter').with({ search: 'night' }).submit()
    expect(found.rows).toHaveLength(1)
    expect((await page.form('Filter').with({ search: 'nothing' }).submit()).text).toContain(
      'No matching machine agents',
    )
    const theirs = await viewer.open(PATH)
    expect(theirs.rows).toHaveLength(1)
    expect(theirs.html).not.toContain(`${PATH}/new`)
    expect((await viewer.open(`${PATH}/new`)).status).toBe(403)
    const words = async (id: string) => (await viewer.open(`${PATH}/${id}`)).text.replace(/req_\w+/, '')
    expect(await words(other.id)).toBe(await words(`mch_${'9'.repeat(25)}`))
    // Who answers for it rotates and removes it, and changes no more.
    const one = await viewer.open(`${PATH}/${own.id}`)
    expect(['Add a secret', 'Remove machine agent', 'Save'].map((label) => one.offers(label))).toEqual([
      true,
      true,
      false,
    ])
    const above = await makeMachineAgent(org.owner, { owner_id: people.viewer.userId, role: 'developer' })
    expect((await viewer.open(`${PATH}/${above.id}`)).offers('Add a secret')).toBe(false)
  })

  test('one is created with the least unless told otherwise; its secret is shown once', async () => {
    const { org, owner, admin, people } = await scene()
    await insertSource(system, org, { name: 'handbook', enabled: true, exposed: true })
    const page = await owner.open(`${PATH}/new`)
    const form = page.form('Create machine agent')
    expect(form.values()).toMatchObject({
      role: 'viewer',
      owner: org.owner.email,
      ends: '90',
      scopes: 'data:read maintenance:read',
      which: 'all',
      credential: 'secret',
    })
    expect(page.text).toContain('Query the data sources it may query')
    expect(form.choices('scopes')).not.toContain('proposals:decide')
    expect(form.choices('scopes')).toContain('maintenance:admin')
    const admins = (await admin.open(`${PATH}/new`)).form('Create machine agent')
    expect(admins.choices('scopes')).not.toContain('maintenance:admin')
    expect(admins.choices('role')).not.toContain('owner')
    for (const [change, field] of [
      [{ scopes: [] }, 'Select at least one permission'],
      [{ which: 'chosen' }, 'Select at least one data source'],
      [{ owner: 'nobody@x.example' }, 'No member has this email address'],
      [{ credential: 'key', public_key: 'ssh-ed25519 AAAA' }, 'must be a JWK'],
    ] as const) {
      const refused = await form.with({ name: 'Backup', ends: '180', ...change }).submit()
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(field)])
      expect(refused.form('Create machine agent').values()).toMatchObject({ name: 'Backup', ends: '180' })
    }
    expect(await all(org)).toEqual([])
    const chosen = {
      name: 'Backup',
      role: 'developer',
      owner: people.admin.email.toUpperCase(),
      ends: '30',
      scopes: ['data:read', 'maintenance:run'],
      which: 'chosen',
      sources: ['db_handbook'],
    }
    const made = await form.with(chosen).submit()
    expect([made.status, made.headers.get('cache-control')]).toEqual([201, 'no-store'])
    const secret = /svcm_[0-9A-Za-z]{30,}/.exec(made.html)?.[0]
    expect(secret).toBeDefined()
    const [agent] = await all(org)
    expect(agent).toMatchObject({ name: 'Backup', role: 'developer', owner: { name: people.admin.name } })
    expect(made.text).toContain(`/oauth/token -u "${agent!.client_id}:$SVC_CLIENT_SECRET"`)
    for (const path of [PATH, `${PATH}/${agent!.id}`])
      expect((await owner.open(path)).html).not.toContain(secret!)
    expect(JSON.stringify(owner.walker.jar.all())).not.toContain(secret!)
    const { jwk } = newKeyPair()
    const byKey = await form
      .with({ name: 'By key', credential: 'key', public_key: JSON.stringify(jwk) })
      .submit()
    expect(byKey.text).not.toContain('Copy the secret now')
    expect(byKey.text).toContain('PrivateKeyJwtProvider')
  })

  test('its credentials, name, owner and expiry are changed; it is disconnected for good, and removed', async () => {
    const { org, owner, people } = await scene()
    const { id } = await makeMachineAgent(org.owner, { name: 'Nightly' })
    const path = `${PATH}/${id}`
    const show = () => org.owner.call(showMachineAgent, { machine_agent_id: id })
    const page = await owner.open(path)
    expect(page.pairs).toMatchObject({
      State: 'Active',
      Role: 'Viewer',
      Owner: `${org.owner.name} ${org.owner.email}`,
    })
    expect(page.html).toContain(`/console/activity?person=${(await show()).user_id}`)
    const added = await page.form('Add a secret').submit()
    expect([added.status, added.text]).toEqual([201, expect.stringContaining('Copy the secret now.')])
    const full = await owner.open(path)
    expect(full.text).toContain('To add another secret, revoke one first.')
    const [first] = (await show()).credentials
    const revoked = await full.form('Revoke credential', first!.id).submit()
    expect(revoked.notices).toEqual(['Credential revoked.'])
    expect((await show()).credentials).toHaveLength(1)
    const [second] = (await show()).credentials
    const rotated = await revoked.form('Rotate', second!.id).with({ overlap_hours: '1' }).submit()
    expect([rotated.status, rotated.text]).toEqual([201, expect.stringContaining('Copy the secret now.')])
    const during = await owner.open(path)
    expect(during.text).toContain('Rotated; works until')
    expect((await show()).credentials.map(({ replaced_by }) => replaced_by !== null)).toEqual([true, false])
    // The one that is going is revoked with the one that came.
    await during.form('Revoke credential', second!.id).submit()
    expect((await show()).credentials).toEqual([])
    await (await owner.open(path)).form('Add a secret').submit()
    const addKey = (await owner.open(path)).form('Add public key')
    const refused = await addKey.with({ public_key: '{"kty":"EC","d":"x"}' }).submit()
    expect([refused.status, refused.problems['public_key']]).toEqual([
      400,
      expect.stringContaining('private key'),
    ])
    expect(refused.html).toContain('<details class="more" open>')
    const details = revoked.form('Save', 'Expires')
    const before = (await show()).expires_at
    const wrong = await details.with({ owner: 'nobody@x.example' }).submit()
    expect(wrong.problems).toEqual({ owner: 'No member has this email address' })
    await wrong.form('Save', 'Expires').with({ name: 'Report', owner: people.admin.email }).submit()
    expect(await show()).toMatchObject({
      name: 'Report',
      owner: { name: people.admin.name },
      expires_at: before,
    })
    await details.with({ name: 'Report', ends: '30' }).submit()
    expect((await show()).expires_at).not.toBe(before)
    const narrowed = await (
      await owner.open(path)
    )
      .form('Save permissions')
      .with({ scopes: ['data:read'] })
      .submit()
    expect([narrowed.path, narrowed.notices]).toEqual([path, ['Permissions saved.']])
    const listed = await owner.open('/console/agents?all=true')
    expect(listed.row('Report')).toContain('Machine agent')
    const grant = await owner.open(`/console/agents/${(await show()).grant_id}`)
    expect(grant.html).toContain(`href="${path}"`)
    expect(grant.text).toContain('and cannot come back')
    expect(grant.html).not.toContain('@machine.invalid')
    const ended = await narrowed.form('Disconnect machine agent').submit()
    expect(ended.text).toContain('This machine agent was disconnected. It cannot come back.')
    const removed = await ended.form('Remove machine agent').submit()
    expect(removed.path).toBe(PATH)
    expect(await all(org)).toEqual([])
  })

  test('says when it has expired, and when its owner has left; another expiry and owner let it go on', async () => {
    const { org, owner, people } = await scene()
    const names = { late: 'Late report', orphan: 'Orphan report' }
    const late = await makeMachineAgent(org.owner, { name: names.late })
    const orphan = await makeMachineAgent(org.owner, { name: names.orphan, owner_id: people.viewer.userId })
    await system.db
      .update(machineAgents)
      .set({ expiresAt: system.clock.now() })
      .where(eq(machineAgents.id, late.id))
    await org.owner.call(removeMember, { org_id: org.id, user_id: people.viewer.userId })
    const expired = await owner.open(`${PATH}/${late.id}`)
    expect(expired.text).toContain('This machine agent has expired. It has no access until')
    const left = await owner.open(`${PATH}/${orphan.id}`)
    expect(left.text).toContain(`${people.viewer.name} has left. It has no access until`)
    const list = await owner.open(PATH)
    expect([list.row(names.late), list.row(names.orphan)]).toEqual([
      expect.stringContaining('Expired'),
      expect.stringContaining('Without owner'),
    ])
    const save = left.form('Save', 'Expires')
    expect(save.value('owner')).toBe('')
    await save.with({ owner: people.admin.email }).submit()
    await expired.form('Save', 'Expires').with({ ends: '30' }).submit()
    for (const { id } of [late, orphan]) {
      expect((await owner.open(`${PATH}/${id}`)).pairs).toMatchObject({ State: 'Active' })
    }
  })

  test('says when it has no credential left', async () => {
    const { org, owner } = await scene()
    const { id } = await makeMachineAgent(org.owner, { name: 'Nightly' })
    const path = `${PATH}/${id}`
    const gone = await (await owner.open(path)).form('Revoke credential').submit()
    expect(gone.text).toContain('This machine agent has no credentials.')
  })
})
