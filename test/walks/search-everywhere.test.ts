/** One question to every source one may ask, and what was found fetched by its id: never more than one may see. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listActivity, reportToolCall } from '../../src/contracts/activity.ts'
import {
  fetchSearchResult,
  queryDataSource,
  SearchConfiguration,
  searchDataSources,
  setDataSourceExposure,
  showQuota,
} from '../../src/contracts/data-sources.ts'
import {
  agentOf,
  configurationOf,
  entry,
  insertSource,
  makeSource,
  startWithDatabases,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'

let system: SystemWithDatabases
let org: Org
let viewer: Person
let ids: { notes: string; secrets: string }

beforeAll(async () => {
  system = await startWithDatabases({ QUESTIONS_PER_DAY: '1000' })
  org = await makeOrganization(system)
  viewer = await makeMember(system, org, 'viewer')
  const table = (name: string, rows: string) =>
    `create table ${name} (id text, title text, body text, embedding vector(3)); insert into ${name} values ${rows}`
  const notes = await makeSource(org, {
    name: 'notes',
    sql: `${table('notes', `('n1', 'near', 'a note', '[1,0,0]'), ('n2', 'far', '${'long '.repeat(2000)}', '[0,1,0]')`)};
      ${table('memos', `('m1', 'memo', 'a memo', '[0.9,0.1,0]')`)}`,
    configuration: configurationOf([
      entry('notes', { content_columns: 'id,title,body' }),
      entry('memos', { content_columns: 'id,title,body' }),
    ]),
  })
  const secrets = await makeSource(org, {
    name: 'secrets',
    sql: table('secrets', `('s1', 'secret', 'for admins', '[1,0,0]')`),
    configuration: configurationOf([entry('secrets', { content_columns: 'id,title,body' })]),
  })
  await org.owner.call(setDataSourceExposure, {
    source_id: 'db_secrets',
    exposed: true,
    minimum_role: 'admin',
  })
  ids = { notes: notes.id, secrets: secrets.id }
})
afterAll(() => system.stop())

const agentFor = async (person: Person, sources: string[] | null) =>
  system.as({ token: (await (await agentOf(system, org, person, sources))()).token })

const titlesFor = async (person: Person, input: { sources?: string[]; top_k?: number } = {}) => {
  const { results } = await person.call(searchDataSources, { query: '[1,0,0]', ...input })
  return results.map(({ title }) => title)
}

describe('a search over all sources', () => {
  test('finds in every table of every source one may ask, best first, and in no other', async () => {
    expect(await titlesFor(viewer)).toEqual(['near', 'memo', 'far'])
    expect(new Set(await titlesFor(org.owner))).toEqual(new Set(['far', 'memo', 'near', 'secret']))
    expect(await titlesFor(viewer, { top_k: 1 })).toEqual(['near'])
    const outsider = await makeOrganization(system)
    expect(await titlesFor(outsider.owner)).toEqual([])
  })

  test('says of each hit where it was found, and stays within 16 KiB', async () => {
    const answer = await viewer.call(searchDataSources, { query: '[1,0,0]' })
    expect(answer.results[0]?.metadata).toMatchObject({ _source: 'db_notes', _target: 'notes', _score: 1 })
    expect(JSON.stringify(answer).length).toBeLessThanOrEqual(16 * 1024)
  })

  test('can be narrowed to some sources; one that may not be asked is unknown', async () => {
    expect(await titlesFor(org.owner, { sources: ['db_secrets'] })).toEqual(['secret'])
    for (const unknown of ['db_secrets', ids.secrets, 'db_nothing']) {
      await expect(titlesFor(viewer, { sources: ['db_notes', unknown] })).rejects.toMatchObject({
        code: 'NOT_FOUND',
      })
    }
  })

  test('keeps to the sources of an agent’s grant', async () => {
    const agent = await agentFor(org.owner, [ids.secrets])
    const { results } = await agent(searchDataSources, { query: '[1,0,0]' })
    expect(results.map(({ title }) => title)).toEqual(['secret'])
  })

  test('answers what the others know when one source cannot be asked, and names it', async () => {
    const other = await makeOrganization(system)
    await makeSource(other, {
      name: 'fine',
      sql: `create table fine (id text, title text, embedding vector(3)); insert into fine values ('1', 'fine', '[1,0,0]')`,
      configuration: configurationOf([entry('fine')]),
    })
    await insertSource(system, other, {
      name: 'gone',
      configuration: SearchConfiguration.parse(configurationOf([entry('gone')])),
      enabled: true,
      exposed: true,
    })
    const { results, unavailable } = await other.owner.call(searchDataSources, { query: '[1,0,0]' })
    expect(results.map(({ title }) => title)).toEqual(['fine'])
    expect(unavailable).toEqual([
      { source_id: 'db_gone', reason: 'The database of this source cannot be reached now' },
    ])
  })

  test('counts as one question and leaves one row', async () => {
    const before = (await viewer.call(showQuota, {})).day.left
    await titlesFor(viewer)
    expect((await viewer.call(showQuota, {})).day.left).toBe(before - 1)
    const [row] = (await viewer.call(listActivity, { type: 'data_source', limit: 1 })).activity
    expect(row).toMatchObject({ name: 'search', outcome: 'answered', hits: 3 })
  })
})

describe('what was found', () => {
  const found = async (person: Person, at = 0) =>
    (await person.call(searchDataSources, { query: '[1,0,0]' })).results[at]!.id

  test('can be fetched whole by its id', async () => {
    const answer = await viewer.call(fetchSearchResult, { id: await found(viewer) })
    expect(answer).toEqual({
      source_id: 'db_notes',
      target: 'notes',
      hit: {
        id: 'n1',
        title: 'near',
        url: expect.any(String),
        digest: expect.any(String),
        as_of: expect.any(String),
        metadata: { body: 'a note', _target: 'notes' },
      },
    })
  })

  test('opens to nobody who may not ask the source, and in no other organization', async () => {
    const { results } = await org.owner.call(searchDataSources, { query: '[1,0,0]', sources: ['db_secrets'] })
    const id = results[0]!.id
    await expect(viewer.call(fetchSearchResult, { id })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const outsider = await makeOrganization(system)
    await expect(outsider.owner.call(fetchSearchResult, { id })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    })
    const agent = await agentFor(org.owner, [ids.notes])
    await expect(agent(fetchSearchResult, { id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('the quota', () => {
  test('is whole before the first question and shrinks with each', async () => {
    const other = await makeOrganization(system)
    const fresh = await other.owner.call(showQuota, {})
    expect(fresh.day).toMatchObject({ limit: 1000, left: 1000 })
    expect(new Date(fresh.day.resets_at).getUTCHours()).toBe(0)
    await insertSource(system, other, { name: 'empty', enabled: true, exposed: true })
    await other.owner.call(queryDataSource, { source_id: 'db_empty', query: 'why?' }).catch(() => {})
    expect((await other.owner.call(showQuota, {})).day.left).toBe(999)
  })
})

describe('a reported call', () => {
  const report = {
    name: 'whoami',
    outcome: 'answered',
    duration_ms: 3,
    question_bytes: 2,
    answer_bytes: 40,
    question_sha256: 'a'.repeat(64),
  } as const

  test('becomes a row of its own kind, with a digest that is ours', async () => {
    const agent = await agentFor(viewer, null)
    await agent(reportToolCall, report)
    const [row] = (await viewer.call(listActivity, { limit: 1 })).activity
    expect(row).toMatchObject({ type: 'function', name: 'whoami', source: 'mcp', answer_bytes: 40 })
    expect(row?.question_digest).toMatch(/^[0-9a-f]{32}$/)
    expect(row?.question_digest).not.toBe('a'.repeat(32))
  })

  test('is taken from the MCP endpoints only', async () => {
    await expect(viewer.call(reportToolCall, report)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })
})
