/** What is known of a source's condition: found out in bounded time, in our words, for those who may configure it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { dataSourceHealth } from '../../db/schema.ts'
import {
  listDataSources,
  queryDataSource,
  saveSearchConfiguration,
  SearchConfiguration,
  showDataSource,
} from '../../src/contracts/data-sources.ts'
import { removeDatabase } from '../../src/contracts/databases.ts'
import type { ServiceError } from '../../src/contracts/errors.ts'
import {
  configurationOf,
  entry,
  inDatabase,
  insertSource,
  makeSource,
  startWithDatabases,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { makeMember, makeOrganization, type Org } from '../support/make.ts'

let system: SystemWithDatabases
let org: Org

const WORDY = `create table many (id int, title text, written date, embedding vector(3));
insert into many select i, 'word' || i, '2026-01-01', '[1,0,0]' from generate_series(1, 2001) i;
create view seen as select * from many;
create table few as select * from many limit 2000;`
const SQL = `
create table good (id text, title text, year int, embedding vector(3));
insert into good values ('1', 'one', 2020, '[1,0,0]');
create table gaps (id text, title text, year int, embedding vector(3));
insert into gaps select i::text, 'gap', i, case when i > 3 then '[1,0,0]'::vector end from generate_series(1, 12000) i;
create table empty (id text, title text, embedding vector(3));
${WORDY}`

beforeAll(async () => {
  system = await startWithDatabases()
  org = await makeOrganization(system)
  await makeSource(org, { name: 'main', sql: SQL, configuration: configurationOf([entry('good')]) })
})
afterAll(() => system.stop())

const source_id = 'db_main'
type Configuration = ReturnType<typeof configurationOf>
const save = (configuration: Configuration) =>
  org.owner.call(saveSearchConfiguration, { source_id, ...configuration })
const run = (text: string) => inDatabase(org, 'main', (sql) => sql.unsafe(text))
/** A check that takes longer than people wait goes on by itself. */
const healthOf = async (id = source_id, who = org) => {
  const shown = async () => (await who.owner.call(showDataSource, { source_id: id })).health
  await expect.poll(async () => (await shown()).checked_at, { timeout: 20_000 }).not.toBeNull()
  return shown()
}
const listed = async (who = org) => (await who.owner.call(listDataSources, {})).data_sources
const ask = (target?: string) =>
  org.owner.call(queryDataSource, { source_id, query: '[1,0,0] word7', ...(target ? { target } : {}) })

describe('health', () => {
  test('is unknown until somebody looks, and then nothing is wrong', async () => {
    expect((await listed()).map(({ health }) => health)).toEqual([
      { checked_at: null, problems: [], last_error: null },
    ])
    const health = await healthOf()
    expect(health).toEqual({ checked_at: expect.any(String), problems: [], last_error: null })
    expect((await listed())[0]?.health).toEqual(health)
  })

  test('names rows without vectors, tables without any, and indexes that are missing where it matters', async () => {
    await save(configurationOf([entry('gaps'), entry('empty'), entry('good')], { year: 'number' }))
    expect((await healthOf()).problems).toEqual([
      { kind: 'rows_without_vectors', text: 'gaps: 3 of 12,000 rows have no vector and are never found' },
      {
        kind: 'missing_index',
        text: expect.stringMatching(/^gaps: Filters on it are faster with: create index/),
        statement: 'create index on "public"."gaps" ("year")',
      },
      {
        kind: 'dimension_without_rows',
        text: 'empty: no row has a vector of 3 dimensions, so nothing is found',
      },
    ])
  })

  test('counts the rows whose text the model has read in part, at the save as well', async () => {
    await run(`
      create table essays (id text, title text, body text, embedding vector(384));
      insert into essays select n::text, 'e', repeat('word ', n * 100), array_fill(0.05, array[384])::vector
        from generate_series(1, 5) n`)
    const essays = entry('essays', {
      model: 'minilm-l6-v2',
      dimensions: 384,
      content_columns: 'id,title,body',
    })
    const text =
      'essays: 2 of 5 rows have a text that is longer than minilm-l6-v2 reads (256 tokens): by meaning they are found by its beginning alone'
    expect((await save(configurationOf([essays]))).notes).toContain(text)
    expect((await healthOf()).problems).toEqual([{ kind: 'long_texts', text }])
    // What a hit does not show is not counted, nor what another model has read.
    const short = { ...essays, content_columns: 'id,title' }
    expect((await save(configurationOf([short]))).notes.join()).not.toContain('longer than')
    expect((await healthOf()).problems).toEqual([])
    await save(configurationOf([entry('gaps'), entry('empty'), entry('good')], { year: 'number' }))
    await healthOf()
  })

  test('is looked for once in five minutes, however often the page is shown', async () => {
    await run(`update gaps set embedding = '[1,0,0]'; create index on gaps (year)`)
    const shown = await Promise.all(Array.from({ length: 5 }, () => healthOf()))
    expect(shown.map(({ problems }) => problems.length)).toEqual([3, 3, 3, 3, 3])
    system.clock.advance(5 * 60)
    expect((await healthOf()).problems.map(({ kind }) => kind)).toEqual(['dimension_without_rows'])
  })

  test('tells a dimension that the column has no more', async () => {
    await run(
      `create table sized (id text, title text, embedding vector(3)); insert into sized values ('1', 's', '[1,0,0]')`,
    )
    await save(configurationOf([entry('sized')]))
    await run('alter table sized drop column embedding; alter table sized add column embedding vector(5)')
    expect((await healthOf()).problems).toEqual([
      { kind: 'dimension_without_rows', text: 'sized: column "embedding" has 5 dimensions, not 3' },
    ])
  })

  test('has the last error with its cause, and no longer as a problem when a check finds none', async () => {
    await run('create view breaking as select * from good')
    await save(configurationOf([entry('breaking')]))
    expect((await healthOf()).last_error).toBeNull()
    await run(
      `create or replace view breaking as select id, title, year, embedding from good where 1 / (year - 2020) = 1`,
    )
    system.clock.advance(1)
    await expect(ask()).rejects.toMatchObject({ code: 'SOURCE_FAILED' })
    const text = 'The database failed to answer a question to it (22012).'
    expect(await healthOf()).toMatchObject({
      problems: [{ kind: 'failed', text }],
      last_error: { at: expect.any(String), kind: 'failed', cause: text },
    })
    await run(`create or replace view breaking as select * from good`)
    system.clock.advance(5 * 60)
    expect(await healthOf()).toMatchObject({ problems: [], last_error: { cause: text } })
    await save(configurationOf([entry('good')]))
    expect((await healthOf()).last_error, 'of another configuration').toBeNull()
  })

  test('of a database that cannot be reached says so, in the list as well', async () => {
    const other = await makeOrganization(system)
    const lost = await insertSource(system, other, {
      name: 'lost',
      enabled: true,
      exposed: true,
      configuration: SearchConfiguration.parse(configurationOf([entry('t')])),
    })
    const health = await healthOf(lost.sourceId, other)
    const cause = 'Its login was sealed under another DATA_KEY.'
    expect(health).toMatchObject({
      problems: [{ kind: 'unreachable', text: cause }],
      last_error: { kind: 'unreachable', cause },
    })
    expect((await listed(other)).map((one) => one.health)).toEqual([health])
    expect((await listed()).map((one) => one.health)).not.toContainEqual(health)
  })

  test('has what the job that watches the server found', async () => {
    const problem = { kind: 'limit_not_enforced', text: 'Temporary files are not limited.' } as const
    await healthOf()
    const at = eq(dataSourceHealth.orgId, org.id)
    await system.db
      .update(dataSourceHealth)
      .set({ serverProblems: [problem] })
      .where(at)
    await save(configurationOf([entry('good')]))
    expect((await healthOf()).problems).toEqual([problem])
    await system.db.update(dataSourceHealth).set({ serverProblems: [] }).where(at)
  })

  test('is for those who may configure it, in its own organization', async () => {
    const other = await makeOrganization(system)
    await expect(other.owner.call(showDataSource, { source_id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await listed(other)).toEqual([])
    const viewer = await makeMember(system, org, 'viewer')
    await expect(viewer.call(showDataSource, { source_id })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const developer = await makeMember(system, org, 'developer')
    expect((await developer.call(showDataSource, { source_id })).health.checked_at).not.toBeNull()
  })

  test('ends with its source', async () => {
    const other = await makeOrganization(system)
    const { sourceId } = await makeSource(other, { name: 'brief', expose: false })
    await healthOf(sourceId, other)
    const rows = () => system.db.select().from(dataSourceHealth).where(eq(dataSourceHealth.orgId, other.id))
    expect(await rows()).toHaveLength(1)
    await other.owner.call(removeDatabase, { name: 'brief', confirm: 'brief' })
    expect(await rows()).toEqual([])
  })
})

describe('hybrid search', () => {
  const problemsOf = async (configuration: Configuration) =>
    save(configuration).then(
      () => [],
      (error: ServiceError) => error.problems ?? [],
    )
  const content = { hybrid: true, content_columns: 'id,title,written' }

  test('builds the words of 2,000 rows, and of more it wants them stored by the statement that it says', async () => {
    expect(await problemsOf(configurationOf([entry('few', content)]))).toEqual([])
    expect((await ask()).results.slice(0, 2).map(({ title }) => title)).toContain('word7')
    const [problem, ...others] = await problemsOf(configurationOf([entry('many', content)]))
    expect(others).toEqual([])
    const [, statement, name] =
      /^many: hybrid search over more than 2,000 rows needs their words stored: run (.+); then set text_search_column to "(.+)"$/.exec(
        problem!,
      )!
    // A date has another text in every session, so it is no part of a generated column.
    expect(statement).not.toContain('written')
    await run(statement!)
    const stored = configurationOf([entry('many', { ...content, text_search_column: name! })])
    expect(await problemsOf(stored)).toEqual([])
    expect((await ask()).results.slice(0, 2).map(({ title }) => title)).toContain('word7')
    expect((await healthOf()).problems).toEqual([])
  })

  test('says so of a view, of a column that is there already, and of a table that grew since', async () => {
    expect(await problemsOf(configurationOf([entry('seen', content)]))).toEqual([
      'seen: hybrid search over more than 2,000 rows needs their words stored: give it a stored tsvector column and set text_search_column to that',
    ])
    expect(await problemsOf(configurationOf([entry('many', content)]))).toEqual([
      'many: hybrid search over more than 2,000 rows needs their words stored: set text_search_column to "words"',
    ])
    expect(await problemsOf(configurationOf([entry('few', content)]))).toEqual([])
    await run('insert into few select id, title, written, embedding from many')
    expect((await ask()).count, 'it is still searched').toBe(10)
    expect((await healthOf()).problems).toMatchObject([
      { kind: 'words_not_stored', statement: expect.stringContaining('alter table "public"."few"') },
    ])
  })

  test('ranks alike, whether words are stored or built', async () => {
    await run(`create table corpus (id int, title text, words text, embedding vector(3));
      insert into corpus select i, 'the study of ' || case when i % 7 = 0 then 'rare' else 'common' end || ' things ' || (i % 5),
        repeat('filler ', i % 9) || 'x' || i % 11, ('[1,' || i % 13 || ',' || i % 3 || ']')::vector from generate_series(1, 300) i;
      create table kept as select * from corpus;
      alter table kept add column stored tsvector generated always as (to_tsvector('english', coalesce(title, '') || ' ' || coalesce(words, ''))) stored`)
    const columns = { hybrid: true, content_columns: 'id,title,words' }
    await save(
      configurationOf([
        entry('corpus', columns),
        entry('kept', { ...columns, text_search_column: 'stored' }),
      ]),
    )
    for (const query of ['rare things', 'the common study x4', 'filler 3 rare x9', "o'clock & nothing"]) {
      const [built, stored] = await Promise.all(
        ['corpus', 'kept'].map(async (target) =>
          (await org.owner.call(queryDataSource, { source_id, query, target, top_k: 20 })).results.map(
            ({ id }) => id,
          ),
        ),
      )
      expect(built).toHaveLength(20)
      expect(built).toEqual(stored)
    }
  })
})

test('nothing of all this was an error of ours', () => {
  const errors = system.logLines.filter((line) => line.includes('"level":"error"'))
  expect(errors.filter((line) => !line.includes('SOURCE_FAILED') && !line.includes('22012'))).toEqual([])
})
