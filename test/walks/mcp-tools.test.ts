/** The tools of both endpoints, as agents with real grants call them: through the MCP server, the gateway and the cores. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { listActivity } from '../../src/contracts/activity.ts'
import { saveSearchConfiguration, searchDataSources } from '../../src/contracts/data-sources.ts'
import { revokeGrant, showGrant } from '../../src/contracts/grants.ts'
import { addNotifications } from '../../src/cores/notifications/inbox/add-notifications.ts'
import type { Resource } from '../../src/contracts/scopes.ts'
import {
  newAssistant,
  startListeningSystem,
  preRegistered,
  type Choices,
  type ListeningSystem,
} from '../support/assistant.ts'
import {
  configurationOf,
  entry,
  makeSource,
  placeForDatabases,
  toyModels,
  type Source,
} from '../support/data-sources.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'

let place: Awaited<ReturnType<typeof placeForDatabases>>
let system: ListeningSystem
let models: ReturnType<typeof toyModels>
let org: Org
let others: Org
let viewer: Person
let notes: Source

const table = (name: string, rows: string) =>
  `create table ${name} (id text, title text, body text, embedding vector(3)); insert into ${name} values ${rows}`
const columns = { content_columns: 'id,title,body' }

beforeAll(async () => {
  place = await placeForDatabases()
  models = toyModels()
  system = await startListeningSystem({ ...place.settings, QUESTIONS_PER_MINUTE: '100000' }, { models })
  ;[org, others] = [await makeOrganization(system), await makeOrganization(system)]
  viewer = await makeMember(system, org, 'viewer')
  notes = await makeSource(org, {
    name: 'notes',
    sql: table('notes', `('n1', 'near', 'a note of ours', '[1,0,0]'), ('n2', 'far', 'another', '[0,1,0]')`),
    configuration: configurationOf([entry('notes', columns)]),
  })
  await makeSource(org, {
    name: 'secrets',
    sql: table('secrets', `('s1', 'secret', 'for admins', '[1,0,0]')`),
    configuration: configurationOf([entry('secrets', columns)]),
    expose: 'admin',
  })
  await makeSource(others, {
    name: 'notes',
    sql: table('notes', `('t1', 'theirs', 'a note of theirs', '[1,0,0]')`),
    configuration: configurationOf([entry('notes', columns)]),
  })
})
afterAll(async () => {
  await place.clear(system)
  await system.stop()
  await models.close()
  await place.remove()
})

type Connected = { token: string; grantId: string; clientId: string }

/** From nothing to a token, by way of the consent page. */
async function connect(
  person: Person,
  { resource = 'platform', scope, ...choices }: Choices & { resource?: Resource; scope?: string } = {},
): Promise<Connected> {
  const assistant = newAssistant(system, await preRegistered(system))
  const asked = { resource: `${system.origin}/${resource}`, scope }
  const { access, grantId } = await assistant.connect(person, asked, choices)
  return { token: access, grantId, clientId: assistant.clientId }
}

type Answer = {
  status: number
  challenge: string | null
  isError: boolean | undefined
  text: string
  error: { code: number } | undefined
}

async function send(path: string, token: string, method: string, params: object) {
  const response = await fetch(`${system.origin}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return { response, body: (await response.json()) as Record<string, unknown> }
}

async function use(token: string, name: string, input: object = {}, query = ''): Promise<Answer> {
  const path = `/${name.startsWith('notifications') ? 'notifications' : 'platform'}${query}`
  const { response, body } = await send(path, token, 'tools/call', { name, arguments: input })
  const result = body.result as { isError?: boolean; content: { text: string }[] } | undefined
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate'),
    isError: result?.isError,
    text: result?.content[0]?.text ?? '',
    error: body.error as Answer['error'],
  }
}
type Found = { results: { id: string; title: string; url: string; source: string }[] }
const found = async (token: string, query = '') =>
  (JSON.parse((await use(token, 'search', { query: '[1,0,0]' }, query)).text) as Found).results
const sourcesSeen = async (token: string, query = '') => {
  const { text } = await use(token, 'datasource_list', {}, query)
  return (JSON.parse(text) as { data_sources: { id: string }[] }).data_sources.map(({ id }) => id)
}
const ask = (token: string, source_id: string, query = '') =>
  use(token, 'datasource_query', { source_id, query: '[1,0,0]' }, query)

const UNKNOWN = 'NOT_FOUND: No such data source. Call datasource_list.'

describe('two organizations', () => {
  test('each finds its own rows, and fetches them by what it found', async () => {
    const [ours, theirs] = [await connect(viewer), await connect(others.owner)]
    const results = await found(ours.token)
    expect(results.map(({ title }) => title)).toEqual(['near', 'far'])
    expect(results[0]).toMatchObject({
      source: 'db_notes',
      url: expect.stringContaining(`${system.origin}/console/data-sources/db_notes/rows/`),
    })
    expect((await found(theirs.token)).map(({ title }) => title)).toEqual(['theirs'])
    const { id } = results[0]!
    expect(JSON.parse((await use(ours.token, 'fetch', { id })).text)).toMatchObject({
      id,
      title: 'near',
      text: 'body: a note of ours',
      url: results[0]!.url,
      metadata: {
        source: 'db_notes',
        target: 'notes',
        digest: expect.any(String),
        as_of: expect.any(String),
      },
    })
    const foreign = await use(theirs.token, 'fetch', { id })
    expect([foreign.isError, foreign.text]).toEqual([true, expect.stringMatching(/^INVALID_REQUEST: /)])
    expect(foreign.text).not.toContain('ours')
  })

  test('an agent acts for one of them, and says so', async () => {
    const { token, clientId } = await connect(viewer)
    expect(JSON.parse((await use(token, 'whoami')).text)).toMatchObject({
      user: { id: viewer.userId },
      organization: { id: org.id },
      role: 'viewer',
      client: clientId,
      quota: { day: { limit: 5000 } },
      hidden: ['maintenance_run', 'maintenance_set', 'proposal_decide'].map((tool) => ({
        tool,
        why: 'needs the role admin',
      })),
    })
  })
})

describe('what may be asked', () => {
  test('is only what the user chose, and everything else is not found, byte for byte', async () => {
    const { token } = await connect(org.owner, { sources: [notes.id] })
    expect(await sourcesSeen(token)).toEqual(['db_notes'])
    expect((await found(token)).map(({ source }) => source)).toEqual(['db_notes', 'db_notes'])
    expect((await ask(token, 'db_secrets')).text).toBe(UNKNOWN)
    expect(await ask(token, 'db_secrets')).toEqual(await ask(token, 'db_nothing'))
  })

  test('depends on the role: below the minimum a source is refused, and listed to nobody', async () => {
    const { token } = await connect(viewer)
    expect(await sourcesSeen(token)).toEqual(['db_notes'])
    const refused = await ask(token, 'db_secrets')
    expect([refused.status, refused.isError]).toEqual([200, true])
    expect(refused.text).toMatch(/^FORBIDDEN: This data source requires the role admin or above\. Ask /)
    const admin = await connect(await makeMember(system, org, 'admin'))
    expect(await sourcesSeen(admin.token)).toEqual(['db_notes', 'db_secrets'])
    expect((await ask(admin.token, 'db_secrets')).text).toContain('for admins')
  })

  test('can be narrowed by the URL, and never widened', async () => {
    const { token } = await connect(org.owner)
    expect(await sourcesSeen(token, '?source=db_secrets')).toEqual(['db_secrets'])
    expect((await found(token, '?source=db_secrets')).map(({ title }) => title)).toEqual(['secret'])
    expect((await found(token, '?source=db_secrets,db_nothing')).map(({ title }) => title)).toEqual([
      'secret',
    ])
    expect(await ask(token, 'db_notes', '?source=db_secrets')).toEqual(await ask(token, 'db_nothing'))
    expect(await ask(token, notes.id, '?source=db_secrets')).toEqual(await ask(token, 'db_nothing'))
    const [row] = await found(token, '?source=db_notes')
    const elsewhere = await use(token, 'fetch', { id: row!.id }, '?source=db_secrets')
    expect(elsewhere.text).toBe('NOT_FOUND: No such result. Search again.')
    const low = await connect(viewer)
    expect(await sourcesSeen(low.token, '?source=db_secrets')).toEqual([])
    expect((await use(low.token, 'search', { query: 'x' }, '?source=db_secrets')).text).toBe(UNKNOWN)
  })
})

test('sources that are searched by meaning and words take turns, also where their tables have one label', async () => {
  const { call } = org.owner
  const configure = (more: Parameters<typeof entry>[1]) =>
    Promise.all(
      ['notes', 'secrets'].map((name) =>
        call(saveSearchConfiguration, {
          source_id: `db_${name}`,
          ...configurationOf([entry(name, { ...columns, ...more })]),
        }),
      ),
    )
  await configure({ label: 'all', hybrid: true })
  const { results } = await call(searchDataSources, { query: '[0.1,1,0]' })
  await configure({})
  // Were scores compared, `near` would come before `secret`: of equals, the one of the first source.
  expect(results.map(({ title }) => title)).toEqual(['far', 'secret', 'near'])
})

describe('scopes', () => {
  test('one that is missing is asked for, and opens the tool once it is granted', async () => {
    const narrow = await connect(viewer, { scope: 'maintenance:read' })
    const refused = await use(narrow.token, 'search', { query: 'x' })
    expect(refused).toMatchObject({
      status: 403,
      challenge:
        'Bearer error="insufficient_scope", scope="data:read", ' +
        `resource_metadata="${system.origin}/.well-known/oauth-protected-resource/platform"`,
    })
    const wide = await connect(viewer, { scope: 'maintenance:read data:read' })
    expect((await use(wide.token, 'search', { query: 'x' })).status).toBe(200)
  })

  test('an API token does not see what it may not call, and hears why', async () => {
    const { token } = await makeApiToken(system, org, org.owner, { scopes: ['notifications:read'] })
    const { body } = await send('/platform', token, 'tools/list', {})
    const { tools } = body.result as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toEqual(['whoami'])
    const refused = await use(token, 'search', { query: 'x' })
    expect(refused).toMatchObject({ status: 200, isError: true })
    expect(refused.text).toMatch(/^FORBIDDEN: This tool needs the scope data:read/)
  })
})

test('a chat card is read by an agent of its endpoint: the same for every organization, until the grant is revoked', async () => {
  const card = async (token: string) => {
    const { response, body } = await send('/platform', token, 'resources/read', { uri: 'ui://svc/answer' })
    const { contents } = (body.result ?? { contents: [] }) as { contents: { text: string }[] }
    return { status: response.status, html: contents[0]?.text ?? '' }
  }
  const [ours, theirs] = [await connect(viewer), await connect(others.owner)]
  const [read, same] = [await card(ours.token), await card(theirs.token)]
  expect(read.html).toContain(`data-app="${system.origin}"`)
  expect(same).toEqual(read)
  await viewer.call(revokeGrant, { grant_id: ours.grantId })
  expect(await card(ours.token)).toEqual({ status: 401, html: '' })
})

test('a revoked grant is refused on the next call, by every tool', async () => {
  const { token, grantId } = await connect(viewer)
  expect((await use(token, 'whoami')).status).toBe(200)
  await viewer.call(revokeGrant, { grant_id: grantId })
  for (const name of ['whoami', 'search', 'datasource_list', 'nothing']) {
    expect(await use(token, name)).toMatchObject({
      status: 401,
      challenge: expect.stringContaining('error="invalid_token"'),
    })
  }
  expect((await send('/platform', token, 'tools/list', {})).response.status).toBe(401)
})

describe('activity', () => {
  const rowsOf = async (clientId: string, type: 'function' | 'data_source') => {
    const { activity } = await org.owner.call(listActivity, { type })
    return activity
      .filter((row) => row.client_id === clientId)
      .map(({ name, outcome, error, source }) => [name, outcome, error, source])
  }

  test('has one row for every call, of the kind it was, newest first', async () => {
    const { token, clientId } = await connect(viewer)
    const [row] = await found(token)
    await use(token, 'fetch', { id: row!.id })
    await ask(token, 'db_notes')
    await ask(token, 'db_secrets')
    await ask(token, 'db_nothing')
    expect(await rowsOf(clientId, 'data_source')).toEqual([
      [null, 'refused', 'NOT_FOUND', 'mcp'],
      ['db_secrets', 'refused', 'FORBIDDEN', 'mcp'],
      ['db_notes', 'answered', null, 'mcp'],
      ['db_notes', 'answered', null, 'mcp'],
      ['search', 'answered', null, 'mcp'],
    ])
    expect(await rowsOf(clientId, 'function')).toEqual([])

    await use(token, 'whoami')
    await use(token, 'datasource_list')
    await use(token, 'search', { question: 'x' })
    await use(token, 'search', { query: 'x' }, '?tools=whoami')
    await use(token, 'rm_rf')
    await ask(token, 'db_notes', '?source=db_other')
    // A row begins when its call did, to the millisecond: these may share one.
    const functions = await rowsOf(clientId, 'function')
    expect(functions).toHaveLength(6)
    expect(functions).toEqual(
      expect.arrayContaining([
        ['whoami', 'answered', null, 'mcp'],
        ['datasource_list', 'answered', null, 'mcp'],
        ['search', 'refused', 'INVALID_REQUEST', 'mcp'],
        ['search', 'refused', 'NOT_FOUND', 'mcp'],
        ['unknown_tool', 'refused', 'NOT_FOUND', 'mcp'],
        ['datasource_query', 'refused', 'NOT_FOUND', 'mcp'],
      ]),
    )
    expect(await rowsOf(clientId, 'data_source')).toHaveLength(5)
  })

  test('has a row for a scope that was missing, and none that others can see', async () => {
    const { token, clientId } = await connect(viewer, { scope: 'maintenance:read' })
    await use(token, 'search', { query: 'x' })
    expect(await rowsOf(clientId, 'function')).toEqual([['search', 'refused', 'FORBIDDEN', 'mcp']])
    expect(await rowsOf(clientId, 'data_source')).toEqual([])
    const { activity } = await others.owner.call(listActivity, { type: 'function' })
    expect(activity.filter((row) => row.client_id === clientId)).toEqual([])
  })
})

describe('the inbox', () => {
  const told = (person: Person, where: Org, summary: string) =>
    system.db.transaction((tx) =>
      addNotifications(tx, () => system.clock.now(), [
        {
          orgId: where.id,
          userId: person.userId,
          eventId: unique('event'),
          type: 'deploy.failed',
          subject: 'app_1',
          summary,
          url: null,
        },
      ]),
    )
  type Inbox = {
    notifications: { id: string; summary: string }[]
    unread_count: number
    next_cursor?: string
  }
  const inboxOf = async (token: string, input: object = {}) =>
    JSON.parse((await use(token, 'notifications_list', input)).text) as Inbox

  test('is one’s own, and what is acknowledged is read', async () => {
    const person = await makeMember(system, org, 'viewer')
    await told(person, org, 'first')
    await told(person, org, 'second')
    await told(org.owner, org, 'of the owner')
    const { token } = await connect(person, { resource: 'notifications' })
    const { notifications, unread_count } = await inboxOf(token)
    expect(notifications.map(({ summary }) => summary)).toEqual(['second', 'first'])
    expect(unread_count).toBe(2)

    const id = notifications[0]!.id
    const owners = await connect(org.owner, { resource: 'notifications' })
    const foreign = await use(owners.token, 'notifications_ack', { id })
    expect(foreign.text).toBe('NOT_FOUND: No such notification. Call notifications_list.')
    expect((await inboxOf(token)).unread_count).toBe(2)

    const read = await use(token, 'notifications_ack', { id })
    expect(JSON.parse(read.text)).toMatchObject({ id, read: true })
    expect((await use(token, 'notifications_ack', { id })).text).toBe(read.text)
    expect((await inboxOf(token)).notifications.map(({ summary }) => summary)).toEqual(['first'])
    const all = await inboxOf(token, { state: 'all', limit: 1 })
    expect(all.notifications).toHaveLength(1)
    const rest = await inboxOf(token, { state: 'all', limit: 1, cursor: all.next_cursor })
    expect(rest.notifications.map(({ summary }) => summary)).toEqual(['first'])
    const { activity } = await person.call(listActivity, { type: 'function' })
    expect(activity.filter(({ name }) => name === 'notifications_ack')).toHaveLength(2)
  })

  test.runIf(inject('everyCase'))('keeps within 16 KiB by page, and loses nothing', async () => {
    const person = await makeMember(system, org, 'viewer')
    for (let at = 0; at < 12; at += 1) await told(person, org, `${at}: ${'ü'.repeat(1_500)}`)
    const { token } = await connect(person, { resource: 'notifications' })
    const seen: string[] = []
    for (let cursor: string | undefined; ;) {
      const { text } = await use(token, 'notifications_list', cursor === undefined ? {} : { cursor })
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16 * 1024)
      const page = JSON.parse(text) as Inbox
      seen.push(...page.notifications.map(({ summary }) => summary.split(':')[0]!))
      cursor = page.next_cursor
      if (cursor === undefined) break
    }
    expect(seen).toEqual(['11', '10', '9', '8', '7', '6', '5', '4', '3', '2', '1', '0'])
  })

  test('is closed to a token of the other endpoint', async () => {
    const { token } = await connect(viewer)
    expect((await use(token, 'notifications_list')).status).toBe(401)
  })
})

test.runIf(inject('everyCase'))(
  'what an agent uses is counted by scope and data source, in its own organization',
  async () => {
    const { token, grantId } = await connect(viewer)
    await use(token, 'datasource_query', { source_id: 'db_notes', query: '[1,0,0]' })
    await use(token, 'search', { query: '[1,0,0]' })
    await use(token, 'search', { query: '[1,0,0]' }, '?source=db_notes')
    // Refused: no use of anything.
    await use(token, 'datasource_query', { source_id: 'db_secrets', query: '[1,0,0]' })
    await use(token, 'datasource_list')
    await use(token, 'app_list')
    const { use: counted } = await viewer.call(showGrant, { grant_id: grantId })
    expect(counted.scopes.map(({ scope, calls }) => [scope, calls])).toEqual([
      ['data:read', 4],
      ['maintenance:read', 1],
    ])
    expect(counted.sources).toMatchObject([{ id: notes.id, source_id: 'db_notes', calls: 3 }])
    const another = await connect(others.owner)
    expect((await others.owner.call(showGrant, { grant_id: another.grantId })).use.sources).toEqual([])
  },
)
