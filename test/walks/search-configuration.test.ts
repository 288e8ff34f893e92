/** A search configuration is saved when all of it fits the database, and refused with everything that does not. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type postgres from 'postgres'
import { eq } from '../../db/drizzle.ts'
import { dataSources } from '../../db/schema.ts'
import {
  fetchDataSourceRow,
  listTables,
  queryDataSource,
  saveSearchConfiguration,
  searchDataSources,
  showDataSource,
} from '../../src/contracts/data-sources.ts'
import { ENTRIES_MAX } from '../../src/contracts/limits.ts'
import {
  configurationOf,
  entry,
  inDatabase,
  insertSource,
  makeSource,
  startWithDatabases,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { makeOrganization, type Org } from '../support/make.ts'

let system: SystemWithDatabases
let org: Org
const source_id = 'db_shop'

const SQL = `
create table books (id text, title text, year int, isbn bytea, words tsvector, embedding vector(3), other vector(5), loose vector);
insert into books values ('1', 'one', 2020, null, null, '[1,0,0]', null, null);
create table authors (id text, title text, year text, embedding vector(3));
create schema "odd schema";
create table "odd schema"."Tab le" (id text, title text, embedding vector(3));
insert into "odd schema"."Tab le" values ('odd', 'odd', '[1,0,0]');
create table victim (id int);
`

beforeAll(async () => {
  system = await startWithDatabases()
  org = await makeOrganization(system)
  await makeSource(org, { name: 'shop', sql: SQL })
})

afterAll(() => system.stop())

type Configuration = ReturnType<typeof configurationOf>
const save = (configuration: Configuration) =>
  org.owner.call(saveSearchConfiguration, { source_id, ...configuration })
/** Its health is of the moment. */
const show = async () => {
  const { health, ...source } = await org.owner.call(showDataSource, { source_id })
  expect(health).toBeDefined()
  return source
}
const run = (text: string) => inDatabase(org, 'shop', (sql: postgres.Sql) => sql.unsafe(text))
const ask = (more: { filters?: Record<string, string | number>; target?: string } = {}) =>
  org.owner.call(queryDataSource, { source_id, query: 'x', ...more })

describe('what does not fit', () => {
  const saved = configurationOf([entry('books')], { year: 'number' })
  beforeEach(() => save(saved))

  async function expectProblems(configuration: Configuration, problems: string[]): Promise<void> {
    const before = await show()
    await expect(save(configuration)).rejects.toMatchObject({
      code: 'INVALID_SEARCH_CONFIGURATION',
      message: 'Invalid search configuration',
      problems,
    })
    expect(await show()).toEqual(before)
    expect((await ask()).count).toBe(1)
  }

  test('is said all at once, and nothing is saved', () =>
    expectProblems(
      configurationOf(
        [
          entry('books', { label: 'twice' }),
          entry('authors', { label: 'twice' }),
          entry('books', { label: 'no model', model: 'nobody' }),
          entry('books', { label: 'model size', dimensions: 5, columns: ['other'] }),
          entry('books', { label: 'column size', columns: ['other'] }),
          entry('books', { label: 'any size', columns: ['loose'] }),
          entry('books', { label: 'no vector', columns: ['year'] }),
          entry('books', { label: 'no column', columns: ['vector'] }),
          entry('books', { label: 'two', columns: ['embedding', 'other'] }),
          entry('books', { label: 'none', columns: [] }),
          entry('books', { label: 'content', content_columns: 'id,,title, title,nothing,_score' }),
          entry('books', { label: 'words', hybrid: true, text_search_column: 'title' }),
          entry('books', { label: 'no words', hybrid: true, text_search_column: 'gone' }),
          entry('books', { label: 'language', hybrid: true, text_search_language: 'klingon' }),
        ],
        { isbn: 'string', nowhere: 'string', year: 'number', title: 'boolean' },
      ),
      [
        'Two entries have the label "twice"',
        'no model: no model "nobody" is configured; there is toy-3, toy-8, toy-broken, toy-grown, minilm-l6-v2',
        'model size: model "toy-3" has 3 dimensions, not 5',
        'column size: column "other" has 5 dimensions, not 3',
        'any size: column "loose" is a vector of any size, not vector(3)',
        'no vector: column "year" is int4, not vector(3)',
        'no column: table "books" has no column "vector"',
        'two: exactly one vector column must be named',
        'none: without a vector column, `hybrid` must be true: rows are found by their words',
        'none: without a vector column there is no model, and there are no dimensions',
        'content: content_columns holds an empty name',
        'content: content_columns names "title" twice',
        'content: content_columns names "_score", which every hit has already',
        'content: table "books" has no column "nothing"',
        'content: table "books" has no column "_score"',
        'words: column "title" is text, not tsvector',
        'no words: table "books" has no column "gone"',
        'filter_schema: "isbn" of table "books" is bytea, not a string',
        'filter_schema: no searchable table has a column "nowhere"',
        'filter_schema: "year" of table "authors" is text, not a number',
        'filter_schema: "title" of table "books" is text, not a boolean',
        'filter_schema: "title" of table "authors" is text, not a boolean',
        'text_search_language: the database has no configuration "klingon"; "simple" takes words of any language as they are',
      ],
    ))

  test.each([
    'nowhere',
    'nobody.books',
    'public',
    'public.',
    '.books',
    'BOOKS',
    'books ',
    '"books"',
    'pg_catalog',
    "books'; drop table victim; --",
  ])('a table named %j is not there', (table) =>
    expectProblems(configurationOf([entry(table, { label: 'it' })]), [
      `it: there is no table "${table}" that can be read`,
    ]),
  )

  test('what has no form at all is refused before any database is asked', async () => {
    const before = await show()
    const wrong: [Configuration, number][] = [
      [configurationOf([entry('books', { label: '' })]), 1],
      [configurationOf([entry('books', { label: '-' }), entry('books', { label: 'a\nb' })]), 2],
      [configurationOf([entry('books', { dimensions: 0 }), entry('', { label: 'x' })]), 2],
      [configurationOf([{ ...entry('books'), distance: 'cosine' } as never]), 1],
      [configurationOf([entry('books', { distance_metric: 'hamming' as never })]), 1],
      [configurationOf([entry('books')], { year: 'moment' as never }), 1],
      [{ ...configurationOf([entry('books')]), filters: {} } as never, 1],
      [
        configurationOf(
          Array.from({ length: ENTRIES_MAX + 1 }, (_, n) => entry('books', { label: `l${n}` })),
        ),
        1,
      ],
      [{} as never, 1],
    ]
    for (const [configuration, problems] of wrong) {
      const refused = await save(configuration).catch((error: unknown) => error)
      expect(refused).toMatchObject({ code: 'INVALID_REQUEST' })
      expect((refused as { problems: string[] }).problems).toHaveLength(problems)
    }
    expect(await show()).toEqual(before)
  })
})

describe('a save replaces everything', () => {
  test('what is left out is gone; defaults are written down', async () => {
    await save(configurationOf([entry('books'), entry('authors')], { title: 'string' }))
    const { notes, ...saved } = await save(configurationOf([entry('books')]))
    expect(saved).toMatchObject({
      connection_config: {
        embedding_configs: [{ ...entry('books'), columns: ['embedding'], distance_metric: 'cosine' }],
      },
      filter_schema: {},
    })
    expect(await show()).toEqual(saved)
    await expect(ask({ filters: { title: 'one' } })).rejects.toMatchObject({ code: 'FILTER_NOT_ALLOWED' })
    await expect(ask({ target: 'authors' })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    expect(notes).toHaveLength(1)
  })

  test('an empty one takes the search away', async () => {
    await save(configurationOf([]))
    await expect(ask()).rejects.toMatchObject({
      code: 'NO_SEMANTIC_SEARCH',
      message: 'this data source has no semantic search configured',
    })
  })

  test('of ten at once one wins as a whole', async () => {
    const wishes = Array.from({ length: 10 }, (_, n) =>
      configurationOf(
        [entry('books', { label: `label ${n}` })],
        n % 2 ? { year: 'number' } : { title: 'string' },
      ),
    )
    await Promise.all(wishes.map(save))
    const { connection_config, filter_schema } = await show()
    const [won] = connection_config!.embedding_configs
    const wish = wishes.find((one) => one.connection_config.embedding_configs[0]?.label === won?.label)
    expect(filter_schema).toEqual(wish?.filter_schema)
  })

  test('notes say which index would help, until it is there', async () => {
    const configuration = configurationOf(
      [entry('authors', { distance_metric: 'l2', hybrid: true, content_columns: 'id,title,year' })],
      { year: 'string' },
    )
    const { notes } = await save(configuration)
    expect(notes).toEqual([
      'Above a few thousand rows it is faster with: create index on "public"."authors" using hnsw ("embedding" vector_l2_ops)',
      expect.stringMatching(
        /^Full text is faster with: alter table "public"."authors" add column "words" tsvector/,
      ),
      'Filters on it are faster with: create index on "public"."authors" ("year")',
    ])
    for (const note of notes) {
      const statements = note.slice(note.indexOf(': ') + 2).split('; then ')[0]!
      await run(statements)
    }
    const [only] = configuration.connection_config.embedding_configs
    const better = configurationOf([{ ...only!, text_search_column: 'words' }], { year: 'string' })
    expect((await save(better)).notes).toEqual([])
    expect((await ask()).count).toBe(0)
  })
})

describe('what the database became since', () => {
  const made = (
    n: number,
  ) => `drop table if exists drift; create table drift (id text, title text, body text, team text, embedding vector(${n}));
    insert into drift select 'd', 'd', 'd', 'red', array_fill(1, array[${n}])::vector`
  const configuration = configurationOf([entry('drift', { content_columns: 'id,title,body' })], {
    team: 'string',
  })

  beforeEach(async () => {
    await run(made(3))
    await save(configuration)
  })

  test.each<[what: string, sql: string, problems: string[], back: string]>([
    [
      'a column that is returned',
      'alter table drift drop column body',
      ['drift: table "drift" has no column "body"'],
      'alter table drift add column body text',
    ],
    [
      'a column that is filtered on',
      'alter table drift drop column team',
      ['filter_schema: no searchable table has a column "team"'],
      `alter table drift add column team text default 'red'`,
    ],
    [
      'a filter of another type',
      'alter table drift alter column team type int using 1',
      ['filter_schema: "team" of table "drift" is int4, not a string'],
      `alter table drift alter column team type text using 'red'`,
    ],
    ['the table', 'drop table drift', ['drift: there is no table "drift" that can be read'], made(3)],
    [
      'the vectors',
      'alter table drift rename column embedding to vectors',
      ['drift: table "drift" has no column "embedding"'],
      'alter table drift rename column vectors to embedding',
    ],
    ['their size', made(5), ['drift: column "embedding" has 5 dimensions, not 3'], made(3)],
    [
      'their type',
      'alter table drift alter column embedding type text',
      ['drift: column "embedding" is text, not vector(3)'],
      made(3),
    ],
  ])('%s: said clearly, each time one asks, until it fits again', async (_what, sql, problems, back) => {
    expect((await ask({ filters: { team: 'red' } })).count).toBe(1)
    await run(sql)
    const said = {
      code: 'INVALID_SEARCH_CONFIGURATION',
      message: 'The database has changed since the search was configured',
      problems,
    }
    await expect(ask({ filters: { team: 'red' } })).rejects.toMatchObject(said)
    await expect(ask({ filters: { team: 'red' } })).rejects.toMatchObject(said)
    await expect(save(configuration)).rejects.toMatchObject({ code: said.code, problems })
    await run(back)
    await save(configuration)
    expect((await ask({ filters: { team: 'red' } })).count).toBe(1)
  })
})

describe('names that really exist', () => {
  const NAMES = [
    `we"ird`,
    `it's`,
    'semi;colon',
    'Upper Case',
    'ünïcode 表 🦀',
    `"; drop table victim; --`,
    `'; drop table victim; --`,
    '$1',
    'a$2::text',
    '%s {} [] ()',
    'select',
    'constructor',
    'c0',
    'distance',
    String.raw`back\slash`,
    'x'.repeat(63),
    '表'.repeat(20),
  ]
  const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

  test('are table, vector, content and filter columns like others', async () => {
    for (const [n, name] of NAMES.entries()) {
      const q = quoted(name)
      await run(
        `create table ${q} (id int, t text, ${q} vector(3), ${quoted(`${n} ${name}`.slice(0, 60))} text, "f${n}" int);
         insert into ${q} values (1, 'one', '[1,0,0]', 'value ${n}', 7), (2, 'two', '[1,0,0]', 'value', 8)`,
      ).catch((error: unknown) => {
        throw new Error(`${name} cannot be made`, { cause: error })
      })
    }
    const columns = NAMES.map((name, n) => `${n} ${name}`.slice(0, 60))
    await save(
      configurationOf(
        NAMES.map((name, n) =>
          entry(name, { label: `n${n}`, columns: [name], content_columns: `id,t,${columns[n]}` }),
        ),
        Object.fromEntries(columns.map((column) => [column, 'string' as const])),
      ),
    )
    for (const [n, column] of columns.entries()) {
      const { results } = await ask({ target: `n${n}`, filters: { [column]: `value ${n}` } })
      expect(results.map(({ id, title, metadata }) => ({ id, title, metadata }))).toEqual([
        {
          id: '1',
          title: 'one',
          metadata: { [column]: `value ${n}`, _score: 1, _target: `n${n}` },
        },
      ])
    }
    expect(await run(`select to_regclass('victim')::text as t`)).toMatchObject([{ t: 'victim' }])
  })

  test('a schema and a table with blanks and capitals', async () => {
    await save(configurationOf([entry('odd schema.Tab le', { label: 'odd' })]))
    expect((await ask()).results).toMatchObject([{ id: 'odd' }])
  })
})

test('nothing of all this was an error of ours', () => {
  expect(system.logLines.filter((line) => line.includes('"level":"error"'))).toEqual([])
})

/** Behind the look at the log, where such failures stand. */
describe('a database that fails', () => {
  const configuration = configurationOf([
    entry('shaky', { content_columns: 'id,title,share', fetchable: true }),
  ])

  test('is told as such, as one that cannot be reached is, and a search over all answers what the others know', async () => {
    await run(`create table shares (id text, title text, n int, embedding vector(3));
      insert into shares values ('s', 's', 1, '[1,0,0]');
      create view shaky as select id, title, 1 / n as share, embedding from shares`)
    await save(configuration)
    const { results } = await ask()
    const handle = String(results[0]!.metadata['_handle'])
    const fetchRow = () => org.owner.call(fetchDataSourceRow, { source_id, handle })
    expect((await fetchRow()).hit).toMatchObject({ id: 's', metadata: { share: 1 } })

    const [shop] = await system.db.select().from(dataSources).where(eq(dataSources.orgId, org.id))
    const { kind, configuration: saved, configuredAt } = shop!
    const away = await insertSource(system, org, {
      kind,
      configuration: saved,
      configuredAt,
      enabled: true,
      exposed: true,
      physicalName: 'away',
      sealed: 'opens nothing',
    })
    const searchAll = () => org.owner.call(searchDataSources, { query: 'x' })
    const unavailable = (sourceId: string, reason: string) => ({
      source_id: sourceId,
      reason: expect.stringContaining(reason),
    })
    const isAway = unavailable(away.sourceId, 'cannot be reached now')
    expect(await searchAll()).toMatchObject({ count: 1, unavailable: [isAway] })
    const { sourceId } = away
    for (const attempt of [
      () => org.owner.call(queryDataSource, { source_id: sourceId, query: 'x' }),
      () => org.owner.call(listTables, { source_id: sourceId }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'TIMEOUT',
        message: 'The database of this source cannot be reached now',
        hint: expect.stringContaining('operator'),
      })
    }

    await run('update shares set n = 0')
    for (const attempt of [ask, fetchRow])
      await expect(attempt()).rejects.toMatchObject({ code: 'SOURCE_FAILED' })
    expect((await searchAll()).unavailable).toHaveLength(2)
    await expect(save(configuration)).rejects.toMatchObject({
      code: 'INVALID_SEARCH_CONFIGURATION',
      problems: ['shaky: the database failed to answer a question to it (22012)'],
    })
    const { health } = await org.owner.call(showDataSource, { source_id })
    expect(health.last_error).toMatchObject({ kind: 'failed' })
    await system.db.delete(dataSources).where(eq(dataSources.id, away.id))
    await run('update shares set n = 1')
    // What was found under another configuration is not fetched any more.
    await save(
      configurationOf([{ ...configuration.connection_config.embedding_configs[0]!, label: 'renamed' }]),
    )
    await expect(fetchRow()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('has tables that are listed with what questions need to know, for its own organization', async () => {
    await run(`create table listed (id text primary key, title text, embedding vector(3));
      insert into listed values ('a', 'a', '[1,0,0]'), ('b', 'b', null);
      create index on listed using hnsw (embedding vector_l2_ops);
      create view listed_view as select * from listed`)
    const { tables } = await org.owner.call(listTables, { source_id })
    const tableOf = (name: string) => tables.find(({ table }) => table === name)
    expect(tableOf('listed')).toMatchObject({
      kind: 'table',
      rows: 2,
      is_estimated: false,
      configured: false,
      vectors: [{ name: 'embedding', dimensions: 3, index: 'hnsw', metric: 'l2', without_vector: 1 }],
    })
    expect(tableOf('listed')!.vectors[0]!.models).toContain('toy-3')
    // What a view computes is not counted.
    expect(tableOf('listed_view')).toMatchObject({
      kind: 'view',
      rows: null,
      is_estimated: true,
      vectors: [{ index: null, metric: null, without_vector: null }],
    })
    expect(tableOf('books')!.vectors).toMatchObject([
      { name: 'embedding', dimensions: 3 },
      { name: 'other', dimensions: 5, models: [] },
      { name: 'loose', dimensions: null, models: [] },
    ])
    expect(tableOf('shaky')).toMatchObject({ configured: true })
    expect(tableOf('victim')).toMatchObject({ vectors: [], configured: false })
    const { owner } = await makeOrganization(system)
    await expect(owner.call(listTables, { source_id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
