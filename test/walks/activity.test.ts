/** The activity trail: a row for every question whatever became of it, in sizes and digests, and never a word of it. */
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { sql } from '../../db/drizzle.ts'
import { listActivity, summarizeActivity } from '../../src/contracts/activity.ts'
import {
  updateDataSource,
  fetchDataSourceRow,
  queryDataSource,
  setDataSourceState,
  setDataSourceExposure,
} from '../../src/contracts/data-sources.ts'
import { removeDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import {
  agentOf,
  configurationOf,
  entry,
  inDatabase,
  insertSource,
  makeSource,
  managedDatabases,
  startWithDatabases,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'

/** Letters only, so that it is one word to full text and needs no escape anywhere. */
const canary = () => `canary${randomBytes(12).toString('hex').replaceAll(/\d/g, 'x')}`
const IN_ROW = canary()

let system: SystemWithDatabases
let asked: Org
let org: Org
let viewer: Person

beforeAll(async () => {
  system = await startWithDatabases({ QUESTIONS_PER_DAY: '50' })
  asked = await makeOrganization(system)
  await makeSource(asked, {
    name: 'pages',
    sql: `create table pages (id text, title text, team text, body text, embedding vector(3));
      insert into pages values ('1', 'one', 'red', '${IN_ROW}', '[1,0,0]'), ('2', 'two', 'red', '${IN_ROW}', '[0,1,0]')`,
    configuration: configurationOf(
      [
        entry('pages', { content_columns: 'id,title,body', hybrid: true, fetchable: true }),
        entry('pages', { label: 'broken', model: 'toy-broken' }),
      ],
      { team: 'string' },
    ),
  })
})

beforeEach(async () => {
  org = await makeOrganization(system)
  viewer = await makeMember(system, org, 'viewer')
})

afterAll(() => system.stop())

const read = async (who: Pick<Person, 'call'>, filter: object = {}) =>
  (await who.call(listActivity, { type: 'data_source', ...filter })).activity
const quietly = (attempt: Promise<unknown>) => attempt.catch(() => undefined)

const post = (token: string, path: string, init: { body?: string; headers?: Record<string, string> } = {}) =>
  system.fetch(`/api/wf/slim/data-sources/${path}`, {
    method: 'POST',
    body: '{"query":"x"}',
    ...init,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...init.headers },
  })

describe('a row for', () => {
  test('what was answered: who, what, how long, how much', async () => {
    const { results } = await asked.owner.call(queryDataSource, {
      source_id: 'db_pages',
      query: 'wörter',
      target: 'pages',
    })
    const [row] = await read(asked.owner)
    const answer = JSON.stringify({ count: 2, results })
    expect(row).toEqual({
      id: expect.stringMatching(/^act_/) as string,
      at: expect.any(String) as string,
      type: 'data_source',
      name: 'db_pages',
      user: { id: asked.owner.userId, name: asked.owner.name },
      source: 'api',
      client_id: null,
      client_name: null,
      grant_id: null,
      outcome: 'answered',
      error: null,
      duration_ms: expect.any(Number) as number,
      question_bytes: 7,
      answer_bytes: Buffer.byteLength(answer),
      hits: 2,
      question_digest: expect.stringMatching(/^[\w-]{32}$/) as string,
      answer_digest: expect.stringMatching(/^[\w-]{32}$/) as string,
      request_id: expect.stringMatching(/^req_/) as string,
    })
    expect(Math.abs(Date.parse(row!.at) - system.clock.now().getTime())).toBeLessThan(60_000)
  })

  test('a row that was fetched', async () => {
    const { results } = await asked.owner.call(queryDataSource, {
      source_id: 'db_pages',
      query: 'x',
      target: 'pages',
    })
    const handle = String(results[0]?.metadata['_handle'])
    await asked.owner.call(fetchDataSourceRow, { source_id: 'db_pages', handle })
    expect((await read(asked.owner))[0]).toMatchObject({ name: 'db_pages', outcome: 'answered', hits: 1 })
  })

  test('what failed on our side', async () => {
    await quietly(asked.owner.call(queryDataSource, { source_id: 'db_pages', query: 'x', target: 'broken' }))
    expect((await read(asked.owner))[0]).toMatchObject({
      name: 'db_pages',
      outcome: 'failed',
      error: 'EMBEDDING_UNAVAILABLE',
      answer_bytes: 0,
      hits: null,
      answer_digest: null,
    })
  })

  const REFUSALS: Record<string, [act: () => Promise<unknown>, row: object]> = {
    'an unknown source': [
      () => post(viewer.token, 'db_nothing/query'),
      { name: null, error: 'NOT_FOUND', question_bytes: 1 },
    ],
    'an id that cannot be one': [
      () => post(viewer.token, 'nothing/query'),
      { name: null, error: 'NOT_FOUND' },
    ],
    'a hidden source, of which not even the name is kept': [
      async () => post(viewer.token, `${(await insertSource(system, org, { enabled: true })).id}/query`),
      { name: null, error: 'NOT_FOUND' },
    ],
    'a role that is too low': [
      async () => {
        const high = { name: 'high', enabled: true, exposed: true, minimumRole: 'owner' as const }
        return post(viewer.token, `${(await insertSource(system, org, high)).id}/query`)
      },
      { name: 'db_high', error: 'FORBIDDEN' },
    ],
    'a source without a configuration': [
      async () =>
        post(
          viewer.token,
          `${(await insertSource(system, org, { name: 'bare', enabled: true, exposed: true })).id}/query`,
        ),
      { name: 'db_bare', error: 'NO_SEMANTIC_SEARCH', question_bytes: 1 },
    ],
    'a body that cannot be read': [
      () => post(viewer.token, 'db_nothing/query', { body: '{"query":' }),
      { name: null, error: 'INVALID_REQUEST', question_bytes: 0, question_digest: null },
    ],
    'a body that is too large': [
      () => post(viewer.token, 'db_nothing/query', { body: 'x'.repeat(300_000) }),
      { name: null, error: 'TOO_LARGE', question_digest: null },
    ],
    'a question without a form': [
      () => post(viewer.token, 'db_nothing/query', { body: '{"query":1,"top_k":99}' }),
      { name: null, error: 'INVALID_REQUEST', question_digest: null },
    ],
    'a handle that was forged': [
      async () => {
        const { id } = await insertSource(system, org, { name: 'bare', enabled: true, exposed: true })
        return post(viewer.token, `${id}/fetch`, { body: '{"handle":"x.y"}' })
      },
      { name: 'db_bare', error: 'INVALID_REQUEST' },
    ],
    'a token whose scopes do not open it': [
      async () => {
        const { token } = await makeApiToken(system, org, viewer, { scopes: ['notifications:read'] })
        return post(token, 'db_nothing/query')
      },
      { name: null, error: 'FORBIDDEN', question_digest: null },
    ],
  }
  test.each(Object.entries(REFUSALS))('%s', async (_what, [act, row]) => {
    await act()
    const rows = await read(viewer)
    expect(rows).toHaveLength(1)
    expect(rows).toMatchObject([
      { ...row, outcome: 'refused', hits: null, answer_bytes: 0, user: { id: viewer.userId }, source: 'api' },
    ])
  })

  test('a limit that was reached', async () => {
    const { id } = await insertSource(system, org, { name: 'bare', enabled: true, exposed: true })
    for (let n = 0; n < 51; n++) await quietly(viewer.call(queryDataSource, { source_id: id, query: 'x' }))
    expect((await read(viewer))[0]).toMatchObject({
      name: 'db_bare',
      outcome: 'refused',
      error: 'QUOTA_EXCEEDED',
    })
  })

  test('nobody who is not known', async () => {
    await post('svc_nobody', 'db_nothing/query')
    expect(await read(org.owner)).toEqual([])
  })
})

test('the entry point is recorded: an agent with its client, the command line, everything else', async () => {
  const agent = await agentOf(system, org, viewer)
  const { token, clientId } = await agent()
  await post(token, 'db_nothing/query')
  await post(viewer.token, 'db_nothing/query', { headers: { 'x-svc-client': 'cli' } })
  await post(viewer.token, 'db_nothing/query', { headers: { 'x-svc-client': 'console' } })
  await post(viewer.token, 'db_nothing/query', { headers: { 'x-svc-client': 'mcp' } })
  const nodeHandlers = (await read(viewer)).map(({ source, client_id }) => [source, client_id])
  expect(nodeHandlers).toEqual([
    ['api', null],
    ['api', null],
    ['cli', null],
    ['mcp', clientId],
  ])
})

describe('reading it', () => {
  test.each(['member', 'viewer', 'developer', 'admin', 'owner'] as const)('as %s', async (role) => {
    const reader = await makeMember(system, org, role)
    for (const { token } of [viewer, reader]) await post(token, 'db_nothing/query')
    const seesAll = role === 'admin' || role === 'owner'
    const users = (await read(reader)).map(({ user }) => user.id)
    expect(users).toEqual(seesAll ? [reader.userId, viewer.userId] : [reader.userId])
    const theirs = read(reader, { user_id: viewer.userId })
    if (seesAll) expect(await theirs).toHaveLength(1)
    else await expect(theirs).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(await read(reader, { user_id: reader.userId })).toHaveLength(1)
    const { days } = await reader.call(summarizeActivity, { type: 'data_source' })
    const day = system.clock.now().toISOString().slice(0, 10)
    const refused = seesAll ? 2 : 1
    expect(days).toEqual([{ day, answered: 0, refused, failed: 0, questions: refused }])
  })

  test('another organization sees none of it, also by the id of a user or a source', async () => {
    const { id, sourceId } = await insertSource(system, org, { name: 'bare', enabled: true, exposed: true })
    await quietly(viewer.call(queryDataSource, { source_id: id, query: 'x' }))
    const other = await makeOrganization(system)
    for (const filter of [{}, { user_id: viewer.userId }, { source: id }, { source: sourceId }]) {
      expect(await read(other.owner, filter)).toEqual([])
    }
    expect((await other.owner.call(summarizeActivity, { type: 'data_source' })).days).toEqual([])
    expect(await read(org.owner)).toHaveLength(1)
  })

  test('functions unless asked otherwise: a question is none', async () => {
    await post(viewer.token, 'db_nothing/query')
    expect((await viewer.call(listActivity, {})).activity).toEqual([])
    expect((await viewer.call(listActivity, { type: 'function' })).activity).toEqual([])
  })

  test('by source, outcome and time, newest first', async () => {
    const [a, b] = [
      await insertSource(system, org, { enabled: true, exposed: true }),
      await insertSource(system, org, { enabled: true, exposed: true }),
    ]
    for (const { id } of [a, b, a]) {
      system.clock.advance(10)
      await quietly(viewer.call(queryDataSource, { source_id: id, query: 'x' }))
    }
    const all = await read(viewer)
    expect(all.map(({ name }) => name)).toEqual([a.sourceId, b.sourceId, a.sourceId])
    const ids = all.map(({ id }) => id)
    const found = async (filter: object) => (await read(viewer, filter)).map(({ id }) => ids.indexOf(id))
    expect(await found({ source: a.id })).toEqual([0, 2])
    expect(await found({ source: a.sourceId })).toEqual([0, 2])
    expect(await found({ source: 'db_nothing' })).toEqual([])
    expect(await found({ outcome: 'refused' })).toEqual([0, 1, 2])
    expect(await found({ outcome: 'answered' })).toEqual([])
    expect(await found({ from: all[1]!.at })).toEqual([0, 1])
    expect(await found({ to: all[1]!.at })).toEqual([2])
    expect(await found({ from: all[1]!.at, to: all[0]!.at, source: b.id })).toEqual([1])
    const first = await viewer.call(listActivity, { type: 'data_source', limit: 2 })
    const { activity } = await viewer.call(listActivity, {
      type: 'data_source',
      limit: 2,
      cursor: first.next_cursor,
    })
    expect([...first.activity, ...activity]).toEqual(all)
  })

  test('a trail outlives the name of its source', async () => {
    const { id } = await insertSource(system, org, { name: 'old', enabled: true, exposed: true })
    await quietly(viewer.call(queryDataSource, { source_id: id, query: 'x' }))
    await org.owner.call(updateDataSource, { source_id: id, name: 'New name' })
    await org.owner.call(setDataSourceState, { source_id: id, enabled: false })
    await org.owner.call(removeDatabase, { name: 'old', confirm: 'old' })
    expect(await read(viewer)).toMatchObject([{ name: 'db_old' }])
  })
})

test('equal questions have equal digests in one organization, and different ones in two', async () => {
  const other = await makeOrganization(system)
  for (const where of [org, other])
    await insertSource(system, where, { name: 'bare', enabled: true, exposed: true })
  const question = unique('question')
  for (const query of [question, `${question}!`, question]) {
    await quietly(org.owner.call(queryDataSource, { source_id: 'db_bare', query }))
  }
  await quietly(other.owner.call(queryDataSource, { source_id: 'db_bare', query: question }))
  const [third, second, first] = (await read(org.owner)).map(({ question_digest }) => question_digest)
  expect(first).toBe(third)
  expect(first).not.toBe(second)
  expect((await read(other.owner))[0]?.question_digest).not.toBe(first)
})

test('no word of a question, a filter or a row is anywhere afterwards but in the source itself', async () => {
  const words = {
    question: canary(),
    refused: canary(),
    filter: canary(),
    target: canary(),
    handle: canary(),
    body: canary(),
    failed: canary(),
  }
  const question = (query: string, more: object = {}) =>
    quietly(asked.owner.call(queryDataSource, { source_id: 'db_pages', query, target: 'pages', ...more }))
  const { token } = asked.owner
  expect(await question(`about ${words.question}`, { filters: { team: 'red' } })).toMatchObject({ count: 2 })
  await question(words.failed, { target: 'broken' })
  await question(words.refused, { source_id: 'db_nothing' })
  await question('x', { filters: { team: [words.filter, 'blue'] } })
  await question('x', { filters: { [words.filter]: words.filter } })
  await question('x', { target: words.target })
  await post(token, `db_pages/query`, { body: `{"query":"${words.body}"` })
  await post(token, `db_pages/query`, { body: JSON.stringify({ query: words.body, top_k: 99 }) })
  await post(token, `db_pages/fetch`, { body: JSON.stringify({ handle: words.handle }) })
  // The database itself refuses: what it says may quote what it was asked.
  await inDatabase(asked, 'pages', (database) => database`alter table pages rename column body to text`)
  await question(`about ${words.question}`)
  await inDatabase(asked, 'pages', (database) => database`alter table pages rename column text to body`)
  expect((await read(asked.owner)).filter(({ outcome }) => outcome === 'refused').length).toBeGreaterThan(5)

  const secrets = [...Object.values(words), IN_ROW]
  const foundIn = (text: string) => secrets.filter((secret) => text.includes(secret))
  expect(foundIn(await everythingInTheControlPlane())).toEqual([])
  expect(foundIn(system.logLines.join(''))).toEqual([])
  const { database } = await asked.owner.call(showConnectionString, { name: 'pages' })
  const holders = await filesWith(system.dataFolder, secrets)
  const own = join('databases', database)
  expect(holders.filter((path) => !path.startsWith(own))).toEqual([])
  // It would be found if it were there: in its own folder it is.
  expect(holders.length > 0).toBe(managedDatabases() === 'embedded')
  if (inject('engine') === 'pglite') expect(await filesWith(inject('testFolder'), secrets)).toEqual([])
})

async function filesWith(folder: string, secrets: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const path of await readdir(folder, { recursive: true })) {
    // Folders, and what others remove at this moment.
    const bytes = await readFile(join(folder, path)).catch(() => Buffer.alloc(0))
    if (secrets.some((secret) => bytes.includes(secret))) found.push(path)
  }
  return found
}

/** Every row of every table, as text. */
async function everythingInTheControlPlane(): Promise<string> {
  const tables = await system.db.execute<{ name: string }>(
    sql`select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const rows = await system.db.execute(sql.raw(`select t::text as row from ${name} t`))
    texts.push(JSON.stringify([...rows]))
  }
  expect(texts.join('')).toContain(asked.owner.userId)
  return texts.join('\n')
}

test('hiding a source takes nothing from its trail', async () => {
  await asked.owner.call(setDataSourceExposure, { source_id: 'db_pages', exposed: false })
  expect(await read(asked.owner, { source: 'db_pages', outcome: 'answered' })).not.toEqual([])
})
