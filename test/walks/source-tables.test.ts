/** The checklist of a data source: what its tables hold, read from them, and a configuration that saves as it is. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listTables, saveSearchConfiguration } from '../../src/contracts/data-sources.ts'
import {
  configurationOf,
  entry,
  inDatabase,
  makeSource,
  startWithDatabases,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { makeMember, makeOrganization, type Org } from '../support/make.ts'

let system: SystemWithDatabases
let org: Org
let other: Org

const SQL = `
create table articles (id text primary key, title text, body text, secret text, draft bool, embedding vector(3));
insert into articles select i::text, 't', 'b', 's', false, case when i > 2 then '[1,0,0]'::vector end from generate_series(1, 20) i;
create index on articles using hnsw (embedding vector_l2_ops);
create schema "other schema";
create table "other schema"."odd ""name" (id int, name text, v vector(3));
create table strange (id int, v vector(7));
create table sizeless (id int, v vector);
create table plain (id int, name text);
create view seen as select * from articles;`

beforeAll(async () => {
  system = await startWithDatabases()
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  await makeSource(org, { name: 'main', sql: SQL, configuration: configurationOf([entry('articles')]) })
  await makeSource(org, { name: 'bare', sql: SQL, configuration: configurationOf([entry('articles')]) })
})
afterAll(() => system.stop())

const source_id = 'db_main'
const tables = (by = org.owner, id = source_id) => by.call(listTables, { source_id: id })

describe('the tables of a data source', () => {
  test('are listed with their vectors, sizes, rows and indexes, those with vectors first', async () => {
    const { tables: all, more } = await tables()
    expect(more).toBe(false)
    expect(all.map(({ table }) => table)).toEqual([
      'other schema.odd "name',
      'articles',
      'seen',
      'sizeless',
      'strange',
      'plain',
    ])
    expect(all.find(({ table }) => table === 'articles')).toEqual({
      table: 'articles',
      kind: 'table',
      rows: 20,
      is_estimated: false,
      configured: true,
      columns: [
        { name: 'id', type: 'text' },
        { name: 'title', type: 'text' },
        { name: 'body', type: 'text' },
        { name: 'secret', type: 'text' },
        { name: 'draft', type: 'bool' },
        { name: 'embedding', type: 'vector' },
      ],
      vectors: [
        {
          name: 'embedding',
          dimensions: 3,
          models: expect.arrayContaining([expect.any(String)]),
          index: 'hnsw',
          metric: 'l2',
          without_vector: 2,
        },
      ],
    })
    const vectorOf = (name: string) => all.find(({ table }) => table === name)!.vectors[0]
    expect(vectorOf('strange')).toMatchObject({ dimensions: 7, models: [] })
    expect(vectorOf('sizeless')).toMatchObject({ dimensions: null, models: [] })
    // What a view computes is not counted.
    expect(all.find(({ table }) => table === 'seen')).toMatchObject({ kind: 'view', rows: null })
  })

  test('become a configuration that saves as it is, keeps what is saved, and returns as little as it can', async () => {
    const { suggestion } = await tables()
    const [saved, added, ...rest] = suggestion!.connection_config.embedding_configs
    expect(saved).toMatchObject(entry('articles'))
    expect(added).toMatchObject({
      table: 'other schema.odd "name',
      content_columns: 'id, name',
      columns: ['v'],
    })
    expect(rest.map(({ table }) => table)).toEqual(['seen'])
    // Not what nobody asked to return.
    expect(rest[0]!.content_columns).toBe('id, title, body')
    expect(suggestion!.filter_schema).toEqual({ draft: 'boolean' })
    await org.owner.call(saveSearchConfiguration, { source_id, ...suggestion! })
    const { suggestion: again } = await tables()
    expect(again).toEqual(suggestion)
  })

  test('are read anew each time', async () => {
    await inDatabase(org, 'bare', (sql) => sql.unsafe('drop table plain, strange; delete from articles'))
    const { tables: all } = await tables(org.owner, 'db_bare')
    expect(all.map(({ table }) => table)).not.toContain('plain')
    expect(all.find(({ table }) => table === 'articles')).toMatchObject({ rows: 0 })
  })

  test('that cannot be counted are listed all the same, and left out of the configuration', async () => {
    await makeSource(org, {
      name: 'half',
      sql: `${SQL}
        create materialized view empty_yet as select id, title, embedding from articles with no data;`,
      configuration: configurationOf([entry('articles')]),
    })
    const { tables: all, suggestion } = await tables(org.owner, 'db_half')
    const empty = all.find(({ table }) => table === 'empty_yet')
    expect(empty).toMatchObject({ kind: 'table', rows: null, vectors: [{ without_vector: null }] })
    expect(all.find(({ table }) => table === 'articles')).toMatchObject({ rows: 20 })
    const names = suggestion!.connection_config.embedding_configs.map(({ table }) => table)
    expect(names).toContain('articles')
    expect(names).not.toContain('empty_yet')
    await org.owner.call(saveSearchConfiguration, { source_id: 'db_half', ...suggestion! })
  })

  test('are for developers and above, of their own organization', async () => {
    const viewer = await makeMember(system, org, 'viewer')
    await expect(tables(viewer)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(tables(other.owner)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const developer = await makeMember(system, org, 'developer')
    expect((await tables(developer)).tables.length).toBeGreaterThan(0)
  })
})
