/** Questions: the right rows in the right order, by every metric and filter, in the size and form of the contract. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type * as z from 'zod'
import {
  fetchDataSourceRow,
  listAskableDataSources,
  queryDataSource,
  saveSearchConfiguration,
} from '../../src/contracts/data-sources.ts'
import type { ErrorBody } from '../../src/contracts/errors.ts'
import { ANSWER_MAX_BYTES, FILTER_VALUES_MAX, HANDLE_SECONDS } from '../../src/contracts/limits.ts'
import {
  configurationOf,
  entry,
  inDatabase,
  makeSource,
  startWithDatabases,
  type Source,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { makeOrganization, signedIn, type Org } from '../support/make.ts'

let system: SystemWithDatabases
let org: Org
let other: Org
let source: Source

const UUID = '6f1c1b3e-8a43-4d1c-9c7e-0d8a3f5b2a11'

const SQL = `
create table points (id text, title text, embedding vector(3));
insert into points values ('a', 'on the axis', '[1,0,0]'), ('b', 'across', '[0,1,0]'), ('c', 'far', '[3,4,0]'),
  ('n', 'without a vector', null), ('z', 'zero', '[0,0,0]');

create table ties (id text, title text, embedding vector(3));
insert into ties select id, null, '[1,0,0]' from unnest(array['a', '9', 'B', '10', '2', 'ä']) id;

create type mood as enum ('sad', 'it''s "ok"', 'happy');
create table things (id text, title text, s text, v varchar(9), c char(5), u uuid, e mood, i2 int2, i4 int4, i8 int8,
  r real, d float8, n numeric, b bool, day date, embedding vector(3));
insert into things values
  ('1', 'one', 'red', 'x', 'ab', '${UUID}', 'sad', 1, 2020, 9007199254740991, 0.1, 0.1, 12.50, true, '2026-01-31', '[1,0,0]'),
  ('2', 'two', 'it''s "{red}", \\', 'y', 'cd', null, 'it''s "ok"', -1, 2021, 1, 2.5, 1e-7, 0.000000001, false, '2026-02-01', '[1,1,0]'),
  ('3', 'three', '2020', 'x', 'ab', null, 'happy', 1, 2020, 2, 3, 3, 3, null, null, '[0,1,0]');

alter table things add on_day date, add at timestamptz, add local timestamp, add tags text[], add counts int4[];
update things set on_day = '2026-03-01', at = '2026-03-01T23:30:00+01:00', local = '2026-03-01 09:30',
  tags = array['red', 'a "{b}", \\'], counts = array[1, 2] where id = '1';
update things set on_day = '2026-03-02', at = '2026-03-02T00:00:00.000001Z', local = '2026-03-02', tags = array['blue'],
  counts = array[2, 3] where id = '2';
update things set tags = array[]::text[] where id = '3';

create table wide (id text, title text, embedding vector(8));
insert into wide values ('w1', 'eight', '[1,0,0,0,0,0,0,0]'), ('w2', 'eight too', '[1,1,0,0,0,0,0,0]');

create table pages (id text, title text, body text, at timestamptz, big int8, tags text[], extra jsonb, embedding vector(3));
insert into pages select 'page-' || i, 'Page ' || i, repeat('wörter "und" ', 300), '2026-01-01T00:00:00Z', 9007199254740993,
  array['x', 'y'], '{"deep": {"er": [1]}}', ('[1,' || i || ',0]')::vector from generate_series(1, 20) i;
create table monsters (id text, title text, embedding vector(3));
insert into monsters select repeat('i', 3000) || i, repeat('t', 3000), '[1,0,0]' from generate_series(1, 20) i;

create table notes (id text, title text, body text, q text, weight numeric, embedding vector(3));
insert into notes select 'n' || i, 'Note ' || i, 'the usual words about nothing', 'q', i, ('[1,0.0' || i || ',0]')::vector
  from generate_series(1, 60) i;
insert into notes values ('rare', 'Note', 'the word zyzzyva stands here', 'q', 1, '[-1,0,0]');

create table vague (id text, title text, bucket int, "odd $2::text" int, embedding vector(8));
create index on vague using hnsw (embedding vector_l2_ops);
create table many (id text, title text, bucket int, embedding vector(8));
insert into many select i::text, null, i % 100,
  ('[' || (select string_agg(((hashint4(i * 8 + k) & 65535) / 65536.0)::text, ',') from generate_series(0, 7) k) || ']')::vector
  from generate_series(1, 3000) i;
insert into vague select id, title, bucket, bucket, embedding from many where bucket < 10;
create index on many using hnsw (embedding vector_l2_ops) with (m = 4, ef_construction = 8);
analyze many;
create table real (id text, title text, embedding vector(384));
insert into real select 'f', 'f', array_fill(0.05, array[384])::vector;
create view sky as select * from points;
`

const CONFIGURATION = configurationOf(
  [
    entry('points', { label: 'cosine' }),
    entry('points', { label: 'l2', distance_metric: 'l2' }),
    entry('public.points', { label: 'inner', distance_metric: 'inner_product' }),
    entry('ties'),
    entry('things', { content_columns: 'id, title, i8, n, b, day, u' }),
    entry('wide', { model: 'toy-8', dimensions: 8 }),
    entry('pages', { content_columns: 'id,title,body,at,big,tags,extra', fetchable: true }),
    entry('monsters'),
    entry('notes', { content_columns: 'id,title,body,q,weight', hybrid: true }),
    entry('many', { model: 'toy-8', dimensions: 8, distance_metric: 'l2' }),
    entry('vague', { model: 'toy-8', dimensions: 8, distance_metric: 'l2' }),
    entry('sky'),
    entry('real', { model: 'minilm-l6-v2', dimensions: 384 }),
    entry('points', { label: 'broken', model: 'toy-broken' }),
    entry('points', { label: 'grown', model: 'toy-grown' }),
  ],
  {
    s: 'string',
    v: 'string',
    c: 'string',
    u: 'string',
    e: 'string',
    day: 'string',
    i2: 'number',
    i4: 'number',
    i8: 'number',
    r: 'number',
    d: 'number',
    n: 'number',
    b: 'boolean',
    on_day: 'date',
    at: 'date',
    local: 'date',
    tags: 'string',
    counts: 'number',
    bucket: 'number',
    'odd $2::text': 'number',
  },
)

beforeAll(async () => {
  system = await startWithDatabases()
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  source = await makeSource(org, { name: 'shop', sql: SQL, configuration: CONFIGURATION })
})

afterAll(() => system.stop())

type Asked = {
  query?: string
  target?: string
  top_k?: number
  filters?: z.input<typeof queryDataSource.input>['filters']
}
/** What every hit has besides its row. */
const CITED = {
  url: expect.stringContaining('/rows/') as string,
  digest: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
  as_of: expect.any(String) as string,
}

const ask = (asked: Asked) =>
  org.owner.call(queryDataSource, { source_id: source.sourceId, query: '[1,0,0]', ...asked })
const idsOf = async (asked: Asked) => (await ask(asked)).results.map(({ id }) => id)

describe('scores and order', () => {
  test.each([
    ['cosine', { a: 1, c: 0.6, b: 0 }],
    ['l2', { a: 1, z: 0.5, b: 1 / (1 + Math.SQRT2), c: 1 / (1 + Math.sqrt(20)) }],
    ['inner', { c: 3, a: 1, b: 0, z: 0 }],
  ])('%s', async (target, expected) => {
    const { count, results, truncated } = await ask({ target })
    expect(results.map(({ id }) => id)).toEqual(Object.keys(expected))
    expect(count).toBe(results.length)
    expect(truncated).toBeUndefined()
    for (const { id, metadata } of results) {
      expect(metadata).toEqual({ _target: target, _score: expect.any(Number) as number })
      expect(metadata['_score']).toBeCloseTo(expected[id as keyof typeof expected], 6)
    }
  })

  test('a view is a table like others', async () => {
    expect(await idsOf({ target: 'sky' })).toEqual(['a', 'c', 'b'])
  })

  test('equally near rows come by the bytes of their ids, each time', async () => {
    for (const top_k of [6, 6, 3, 1]) {
      expect(await idsOf({ target: 'ties', top_k })).toEqual(['10', '2', '9', 'B', 'a', 'ä'].slice(0, top_k))
    }
  })

  test('the title is the second column, what is null stays null, and only configured columns come back', async () => {
    const { results } = await ask({ target: 'things', top_k: 1 })
    expect(results).toEqual([
      {
        id: '1',
        title: 'one',
        ...CITED,
        metadata: {
          i8: 9_007_199_254_740_991,
          n: 12.5,
          b: true,
          day: '2026-01-31',
          u: UUID,
          _score: 1,
          _target: 'things',
        },
      },
    ])
    expect((await ask({ target: 'ties', top_k: 1 })).results[0]?.title).toBeNull()
  })

  test('every hit is a citation: a digest that changes with the row, and an address that opens it', async () => {
    const first = async () => (await ask({ target: 'pages', top_k: 1 })).results[0]!
    const hit = await first()
    expect((await first()).digest).toBe(hit.digest)
    const others = (await ask({ target: 'pages', top_k: 5 })).results.slice(1)
    expect(others.map(({ digest }) => digest)).not.toContain(hit.digest)
    const page = new URL(hit.url!).pathname
    expect(page.startsWith(`/console/data-sources/db_${source.name}/rows/`)).toBe(true)
    const handle = page.split('/').at(-1)!
    const fetched = await org.owner.call(fetchDataSourceRow, { source_id: `db_${source.name}`, handle })
    expect(fetched.hit).toMatchObject({ id: hit.id, digest: hit.digest, url: hit.url })
  })

  test('a whole number that no double holds comes as text, and JSON as JSON', async () => {
    const [hit] = (await ask({ target: 'pages', top_k: 1 })).results
    expect(hit?.metadata).toMatchObject({
      big: '9007199254740993',
      tags: ['x', 'y'],
      extra: { deep: { er: [1] } },
    })
  })

  test('the built-in model answers too', async () => {
    const { results } = await ask({ query: 'What is it?', target: 'real' })
    expect(results).toHaveLength(1)
    expect(Math.abs(results[0]!.metadata['_score'] as number)).toBeLessThanOrEqual(1)
  })
})

describe('several tables', () => {
  test('of one model and metric merge by score', async () => {
    const merged = await answersOf([entry('points'), entry('things')])
    expect(merged).toEqual(['points a', 'things 1', 'things 2', 'points c', 'points b', 'things 3'])
  })

  test('of several models take turns by rank', async () => {
    const entries = [entry('points'), entry('wide', { model: 'toy-8', dimensions: 8 })]
    expect(await answersOf(entries)).toEqual(['points a', 'wide w1', 'points c', 'wide w2', 'points b'])
  })

  /** The same database with another configuration, for the moment. */
  async function answersOf(entries: ReturnType<typeof entry>[]): Promise<string[]> {
    const { call } = org.owner
    await call(saveSearchConfiguration, { source_id: source.id, ...configurationOf(entries) })
    const { results } = await ask({})
    await call(saveSearchConfiguration, { source_id: source.id, ...CONFIGURATION })
    return results.map(({ id, metadata }) => `${String(metadata['_target'])} ${id}`)
  }

  test('one model that cannot be used: no answer at all rather than part of one', async () => {
    for (const target of ['broken', 'grown', undefined]) {
      await expect(ask(target === undefined ? {} : { target })).rejects.toMatchObject({
        code: 'EMBEDDING_UNAVAILABLE',
      })
    }
  })

  test('an unknown target is told the known ones', async () => {
    await expect(ask({ target: 'nothing' })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: [
        'target: must be one of "cosine", "l2", "inner", "ties", "things", "wide", "pages", "monsters", "notes", "many", "vague", "sky", "real", "broken", "grown"',
      ],
    })
  })
})

describe('filters', () => {
  test.each<[NonNullable<Asked['filters']>, string]>([
    [{ s: 'red' }, '1'],
    [{ s: `it's "{red}", \\` }, '2'],
    [{ s: '2020' }, '3'],
    [{ s: ['red', '2020'] }, '1 3'],
    [{ s: 'RED' }, ''],
    [{ s: "' or 1=1 --" }, ''],
    [{ s: '' }, ''],
    [{ v: 'x' }, '1 3'],
    [{ v: 'x'.repeat(50) }, ''],
    [{ c: 'ab' }, '1 3'],
    [{ u: UUID }, '1'],
    [{ u: UUID.toUpperCase() }, '1'],
    [{ u: ['no uuid', UUID] }, '1'],
    [{ u: 'no uuid' }, ''],
    [{ e: `it's "ok"` }, '2'],
    [{ e: ['happy', 'no mood'] }, '3'],
    [{ day: '2026-01-31' }, '1'],
    [{ day: ['2026-02-01', 'never'] }, '2'],
    [{ i2: 1 }, '1 3'],
    [{ i2: 70_000 }, ''],
    [{ i4: 2020 }, '1 3'],
    [{ i4: '2020' }, '1 3'],
    [{ i4: 2020.5 }, ''],
    [{ i4: 9_007_199_254_740_991 }, ''],
    [{ i8: 9_007_199_254_740_991 }, '1'],
    [{ i4: [2020, '2021'] }, '1 2 3'],
    [{ r: 0.1 }, '1'],
    [{ r: 2.5 }, '2'],
    [{ r: 1e-300 }, ''],
    [{ d: 1e-7 }, '2'],
    [{ n: 12.5 }, '1'],
    [{ n: '12.50' }, '1'],
    [{ n: 1e-9 }, '2'],
    [{ b: true }, '1'],
    [{ b: 'false' }, '2'],
    [{ b: [true, false] }, '1 2'],
    [{ v: 'x', i4: 2020, b: true }, '1'],
    [{ v: 'x', b: false }, ''],
    // Ranges of numbers, also where the column cannot hold their ends.
    [{ i4: { gt: 2020 } }, '2'],
    [{ i4: { gte: '2020', lt: 2020.5 } }, '1 3'],
    [{ i4: { gt: 2020.5 } }, '2'],
    [{ i4: { lte: 2020.5 } }, '1 3'],
    [{ i2: { lt: 70_000 } }, '1 2 3'],
    [{ i2: { gt: 70_000 } }, ''],
    [{ i4: { gt: 2021, lt: 2020 } }, ''],
    [{ n: { lt: 12.5 } }, '2 3'],
    [{ n: { lte: 12.5, gt: 0 } }, '1 2 3'],
    [{ r: { lte: 0.1 } }, '1'],
    [{ r: { gt: 1e-300 } }, '1 2 3'],
    [{ r: { lt: 1e-300 } }, ''],
    [{ r: { gte: -1e-300, lt: 2.5 } }, '1'],
    [{ d: { lt: 1e-6 } }, '2'],
    // Of texts, by their characters.
    [{ s: { lt: '3' } }, '3'],
    [{ s: { gte: 'r', lt: 's' } }, '1'],
    [{ day: { gte: '2026-02-01' } }, '2'],
    [{ e: { lt: 'i' } }, '3'],
    // Of days and moments.
    [{ on_day: '2026-03-01' }, '1'],
    [{ on_day: ['2026-03-01', '2026-03-02', '2025-01-01'] }, '1 2'],
    [{ on_day: { gte: '2026-03-01' } }, '1 2'],
    [{ on_day: { gt: '2026-03-01' } }, '2'],
    [{ on_day: { lte: '2026-03-01' } }, '1'],
    [{ on_day: { gte: '2026-03-01T12:00' } }, '2'],
    [{ on_day: '2026-03-01T12:00:00Z' }, ''],
    [{ at: '2026-03-01' }, '1'],
    [{ at: ['2026-03-01T22:30:00Z', '2026-03-02'] }, '1 2'],
    [{ at: { gt: '2026-03-01' } }, '2'],
    [{ at: { gt: '2026-03-02T00:00:00Z' } }, '2'],
    [{ at: { gt: '2026-03-02T00:00:00.000001Z' } }, ''],
    [{ at: { lt: '2026-03-02T00:00:00+00:00' } }, '1'],
    [{ local: { gte: '2026-03-01T09:30', lt: '2026-03-01T09:31' } }, '1'],
    // A list matches by one of its values.
    [{ tags: 'red' }, '1'],
    [{ tags: ['red', 'blue', 'green'] }, '1 2'],
    [{ tags: 'a "{b}", \\' }, '1'],
    [{ counts: 2 }, '1 2'],
    [{ counts: [3, 4] }, '2'],
    [{ counts: [3_000_000_000, 1.5] }, ''],
    [{ counts: 1, i4: { lt: 2021 } }, '1'],
  ])('%j', async (filters, expected) => {
    expect((await idsOf({ target: 'things', filters })).join(' ')).toBe(expected)
  })

  test('a table without the column cannot match', async () => {
    expect(await ask({ target: 'cosine', filters: { v: 'x' } })).toEqual({ count: 0, results: [] })
    await expect(ask({ target: 'cosine', filters: { v: ['x'] } })).resolves.toMatchObject({ count: 0 })
  })

  test('a column that was not declared is named, and so are those that were', async () => {
    await expect(ask({ filters: { title: 'x' } })).rejects.toMatchObject({
      code: 'FILTER_NOT_ALLOWED',
      message: expect.stringMatching(
        /^Cannot filter on "title"\. Filterable columns: .*\bb \(boolean\).*\bday \(string\)/,
      ) as string,
    })
    await expect(ask({ filters: { constructor: 'x' } })).rejects.toMatchObject({ code: 'FILTER_NOT_ALLOWED' })
  })

  test('a value of another type is refused, each with its place', async () => {
    await expect(
      ask({ filters: { i4: ['1', ' 2', '0x10', true], b: 'yes', s: 3, n: 'NaN', r: 1e300 } }),
    ).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: [
        'filters.i4.1: must be a number',
        'filters.i4.2: must be a number',
        'filters.i4.3: must be a number',
        'filters.b: must be true or false',
        'filters.s: must be a text',
        'filters.n: must be a number',
        'filters.r: must lie between -2^53 and 2^53',
      ],
    })
    await expect(
      ask({
        filters: {
          i4: { gt: 'x' },
          b: { lt: 'true' },
          n: { lt: 1, lte: 2 },
          at: 'now',
          on_day: { gte: '2026-02-30' },
        },
      }),
    ).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: [
        'filters.i4.gt: must be a number',
        'filters.b: must be true or false',
        'filters.n: must be a range with one of gt and gte, one of lt and lte, or both',
        'filters.at: must be a date such as 2026-03-01, or a time such as 2026-03-01T09:30:00Z',
        'filters.on_day.gte: must be a date such as 2026-03-01, or a time such as 2026-03-01T09:30:00Z',
      ],
    })
    await expect(ask({ target: 'things', filters: { tags: { lt: 'x' } } })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: ['filters.tags: must be a value or a list of values, as the column holds lists'],
    })
  })
})

describe('how many and how long', () => {
  test('ten unless asked otherwise, twenty at most', async () => {
    expect((await ask({ target: 'many' })).count).toBe(10)
    expect((await ask({ target: 'many', top_k: 20 })).count).toBe(20)
    expect((await ask({ target: 'many', top_k: 1 })).count).toBe(1)
    for (const top_k of [0, 21, -1, 1.5]) {
      await expect(ask({ target: 'many', top_k })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    }
  })

  test('a longer answer loses the ends of its long values first; every id survives', async () => {
    const sizes: number[] = []
    for (const accept of ['application/json', 'application/yaml']) {
      const response = await post({ query: '[1,0,0]', target: 'pages', top_k: 20 }, { accept })
      const text = await response.text()
      sizes.push(Buffer.byteLength(text))
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(ANSWER_MAX_BYTES)
      const body = parse(text) as Awaited<ReturnType<typeof ask>>
      expect(body.results.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, i) => `page-${i + 1}`))
      expect(body.count).toBe(20)
      expect(body.truncated).toMatch(/^20 long values shortened to \d+ characters\./)
      expect(body.results[0]?.metadata['body']).toMatch(/^wörter .*…$/)
    }
    // The larger of both forms decides how much is shown.
    expect(Math.max(...sizes)).toBeGreaterThan(ANSWER_MAX_BYTES * 0.9)
  })

  test('then it loses its last hits, and says so; no id is ever cut', async () => {
    const { count, results, truncated } = await ask({ target: 'monsters', top_k: 20 })
    expect(count).toBe(results.length)
    expect(count).toBeGreaterThan(2)
    expect(truncated).toMatch(new RegExp(`${20 - count} last hits left out`))
    for (const { id } of results) expect(id.length).toBeGreaterThan(3000)
  })
})

describe('an index on the vectors', () => {
  const question = '[0.5,0.4,0.3,0.6,0.5,0.2,0.8,0.5]'
  const nearest = async (where: string) =>
    (
      await inDatabase(org, source.name, (sql) =>
        sql.unsafe(
          `select id from many where ${where} order by (embedding <-> '${question}') + 0, id collate "C" limit 20`,
        ),
      )
    ).map(({ id }) => String(id))

  test('loses nothing under a filter that keeps one row of a hundred', async () => {
    for (const bucket of [0, 7, 42]) {
      const found = await idsOf({ query: question, target: 'many', filters: { bucket }, top_k: 20 })
      expect(found).toEqual(await nearest(`bucket = ${bucket}`))
    }
    for (const [gte, lt] of [
      [3, 4],
      [10, 15],
      [0, 60],
      [0.5, 99.5],
    ] as const) {
      const found = await idsOf({
        query: question,
        target: 'many',
        filters: { bucket: { gte, lt } },
        top_k: 20,
      })
      expect(found).toEqual(await nearest(`bucket >= ${gte} and bucket < ${lt}`))
    }
  })

  test('nor where nobody has counted the rows and the index is used', async () => {
    const found = await idsOf({ query: question, target: 'vague', top_k: 20 })
    expect(found).toEqual(await nearest('bucket < 10'))
    for (const filters of [{ bucket: 7 }, { 'odd $2::text': 7, bucket: 7 }]) {
      const filtered = await idsOf({ query: question, target: 'vague', filters, top_k: 20 })
      expect(filtered).toEqual(await nearest('bucket = 7'))
    }
  })
})

describe('hybrid', () => {
  test('finds the one row with a rare word, however far its vector is, and says how', async () => {
    const { results } = await ask({ query: 'zyzzyva [1,0,0]', target: 'notes', top_k: 3 })
    expect(results.map(({ id }) => id)).toContain('rare')
    for (const { metadata } of results) expect(metadata['_mode']).toBe('hybrid')
  })

  test('takes words that mean something to full text for words', async () => {
    for (const query of ["it's & | ! ( ) :* <-> zyzzyva", String.raw`\' zyzzyva '`, '…', '🦀', '<->', '\\']) {
      expect((await ask({ query, target: 'notes' })).count).toBe(10)
    }
    const rare = await idsOf({ query: String.raw`'zyzzyva\' & !`, target: 'notes', top_k: 3 })
    expect(rare).toContain('rare')
  })

  test('an ordinary entry does not say how it was found', async () => {
    expect((await ask({ target: 'cosine' })).results[0]?.metadata).not.toHaveProperty('_mode')
  })
})

describe('handles', () => {
  const handleOf = async (top_k = 1): Promise<string> =>
    String((await ask({ target: 'pages', top_k })).results[0]?.metadata['_handle'])
  const fetched = (handle: string, source_id = source.sourceId, who = org) =>
    who.owner.call(fetchDataSourceRow, { source_id, handle })

  test('open the whole row, with what was cut from the answer', async () => {
    const { hit, truncated } = await fetched(await handleOf(20))
    expect(hit.id).toBe('page-1')
    expect(hit.metadata['body']).toBe('wörter "und" '.repeat(300))
    expect(hit.metadata).not.toHaveProperty('_score')
    expect(truncated).toBeUndefined()
  })

  test('stand on no hit of an entry that does not give them out', async () => {
    expect((await ask({ target: 'cosine' })).results[0]?.metadata).not.toHaveProperty('_handle')
  })

  test('open nothing when they were forged', async () => {
    const [body = '', signature = ''] = (await handleOf()).split('.')
    const another = Buffer.from(JSON.stringify(['points', 'a', 9_999_999_999])).toString('base64url')
    for (const forged of [
      `${another}.${signature}`,
      `${body}.${randomBytes(24).toString('base64url')}`,
      `${body}.`,
      body,
      `.${signature}`,
      `${body}.${signature}.x`,
      '.',
      '../../etc',
      'x'.repeat(2000),
      '🦀',
    ]) {
      await expect(fetched(forged)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    }
  })

  test('open nothing at another source, nor in another organization', async () => {
    const handle = await handleOf()
    const twin = { name: 'shop', sql: 'create table pages (id text, title text, embedding vector(3))' }
    const theirs = await makeSource(other, {
      ...twin,
      configuration: configurationOf([entry('pages', { fetchable: true })]),
    })
    await expect(fetched(handle, theirs.sourceId, other)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    await expect(fetched(handle, source.id, other)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('open nothing once their entry is gone, or is no longer to be fetched', async () => {
    const handle = await handleOf()
    for (const entries of [[entry('points')], [entry('pages')]]) {
      await org.owner.call(saveSearchConfiguration, { source_id: source.id, ...configurationOf(entries) })
      await expect(fetched(handle)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    await org.owner.call(saveSearchConfiguration, { source_id: source.id, ...CONFIGURATION })
    expect((await fetched(handle)).hit.id).toBe('page-1')
  })
})

const post = (body: unknown, headers: Record<string, string> = {}, id = source.sourceId) =>
  system.fetch(`/api/wf/slim/data-sources/${id}/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${org.owner.token}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

describe('YAML and JSON', () => {
  const question = { query: '[1,0,0]', target: 'cosine' }

  test('YAML unless JSON is asked for, with the same content', async () => {
    const yaml = await post(question)
    expect(yaml.headers.get('content-type')).toBe('application/yaml; charset=utf-8')
    const json = await post(question, { accept: 'application/json' })
    expect(json.headers.get('content-type')).toBe('application/json')
    const text = await yaml.text()
    expect(text).toMatch(/^count: 3\nresults:\n/)
    // When it was read is another moment.
    type Answer = Awaited<ReturnType<typeof ask>>
    const unread = ({ results }: Answer) => results.map((hit) => ({ ...hit, as_of: undefined }))
    expect(unread(parse(text) as Answer)).toEqual(unread((await json.json()) as Answer))
  })

  test('errors come in the form that the answer would have had', async () => {
    const refused = await post({ query: '', top_k: 99 })
    expect(refused.status).toBe(400)
    expect(refused.headers.get('content-type')).toBe('application/yaml; charset=utf-8')
    const { error } = parse(await refused.text()) as ErrorBody
    expect(error).toMatchObject({
      code: 'INVALID_REQUEST',
      problems: [expect.any(String), expect.any(String)],
    })
    const json = await post({ query: '' }, { accept: 'application/json' })
    expect(((await json.json()) as ErrorBody).error.code).toBe('INVALID_REQUEST')
  })

  test('so does the list of sources', async () => {
    const headers = { authorization: `Bearer ${org.owner.token}` }
    const text = await (await system.fetch('/api/wf/slim/data-sources', { headers })).text()
    expect(parse(text)).toEqual(await org.owner.call(listAskableDataSources, {}))
    expect(parse(text)).toMatchObject({
      data_sources: [
        { id: 'db_shop', name: 'shop', minimum_role: 'viewer', filters: { s: 'string', b: 'boolean' } },
      ],
    })
  })
})

describe('whatever is sent', () => {
  const BODIES: Record<string, unknown> = {
    'a number beyond all numbers': '{"query":"x","filters":{"i4":1e999}}',
    NaN: '{"query":"x","filters":{"i4":NaN}}',
    'a number as text for top_k': { query: 'x', top_k: '5' },
    'a huge top_k': { query: 'x', top_k: 1e300 },
    'ten thousand values': { query: 'x', filters: { i4: Array.from({ length: 10_000 }, (_, i) => i) } },
    'ten thousand filters': {
      query: 'x',
      filters: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`f${i}`, i])),
    },
    'no values': { query: 'x', filters: { i4: [] } },
    'a value that is an object': { query: 'x', filters: { i4: { $gt: 1 } } },
    'a range without ends': { query: 'x', filters: { i4: {} } },
    'ranges in a list': { query: 'x', filters: { i4: [{ gt: 1 }] } },
    'a range of lists': { query: 'x', filters: { i4: { gt: [1] } } },
    'a value that is null': { query: 'x', filters: { i4: null } },
    'filters that are an array': { query: 'x', filters: [['i4', 1]] },
    'a filter named __proto__': '{"query":"x","filters":{"__proto__":{"i4":1}}}',
    'a filter named constructor': { query: 'x', filters: { constructor: 1 } },
    'a filter that is SQL': { query: 'x', filters: { 'i4" = 1 or true; drop table points; --': 1 } },
    'half a character in a filter': String.raw`{"query":"x","target":"things","filters":{"s":"\ud800"}}`,
    'NUL in a filter': { query: 'x', filters: { s: '\0' } },
    'NUL in the question': { query: 'a\0b' },
    'a huge question': { query: 'x'.repeat(100_000) },
    'only blanks': { query: ' \n\t ' },
    'no question': {},
    'a question that is a number': { query: 1 },
    'a target that is SQL': { query: 'x', target: `"; drop table points; --` },
    'a huge target': { query: 'x', target: 'x'.repeat(5000) },
    'deep arrays': `{"query":"x","filters":{"i4":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`,
    'deep objects': `{"query":"x","filters":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`,
    'a key nobody knows': { query: 'x', filter: { i4: 1 } },
  }

  test('a huge body is a 413 in our words', async () => {
    const response = await post({ query: 'x'.repeat(300_000) }, { accept: 'application/json' })
    expect([response.status, await response.text()]).toEqual([
      413,
      expect.stringMatching(/^\{"error":\{"code":"TOO_LARGE"/),
    ])
  })

  test.each(Object.entries(BODIES))('%s is a 400 in our words', async (_what, body) => {
    const response = await post(body, { accept: 'application/json' })
    const text = await response.text()
    expect([response.status, text]).toEqual([
      400,
      expect.stringMatching(/^\{"error":\{"code":"(INVALID_REQUEST|FILTER_NOT_ALLOWED)"/),
    ])
    expect(text).not.toMatch(/drop table|syntax|at .*\.ts|pglite|postgres/i)
    expect(text.length).toBeLessThan(5_000)
  })

  test.each<[string, Asked & { target: string }]>([
    ['half a character in the question', { query: 'x \ud800 [1,0,0]', target: 'cosine' }],
    ['half a character, with full text', { query: 'x \udc00', target: 'notes' }],
    ['the longest question', { query: 'wörter '.repeat(571), target: 'notes' }],
    ['right-to-left and invisible characters', { query: '\u202e\u200b\u0007', target: 'notes' }],
    ['quotes', { query: `'; drop table points; --"`, target: 'notes' }],
    [
      'the most values',
      { target: 'things', filters: { i4: Array.from({ length: FILTER_VALUES_MAX }, (_, i) => i + 1500) } },
    ],
    [
      'values that need quoting',
      { target: 'things', filters: { s: ['{', '}', ',', '"', '\\', 'NULL', '', ' ', '{{'] } },
    ],
  ])('%s is a question like others', async (_what, asked) => {
    const response = await post({ query: 'x', ...asked }, { accept: 'application/json' })
    expect([response.status, response.status === 200 ? '' : await response.text()]).toEqual([200, ''])
  })

  test('a path that names nothing is a 404', async () => {
    for (const id of ['db_nothing', 'ds_0000000000000000000000000', 'nothing', 'db_', "db_'", 'db_SHOP']) {
      expect((await post({ query: 'x' }, {}, id)).status).toBe(404)
    }
  })
})

// Last on purpose: it moves the clock, and looks back at all of the above.
test('a handle is good for a day', async () => {
  const handle = String((await ask({ target: 'pages', top_k: 1 })).results[0]?.metadata['_handle'])
  const until = async (seconds: number) => {
    system.clock.advance(seconds)
    const { call } = await signedIn(system, org.owner.email)
    return call(fetchDataSourceRow, { source_id: source.id, handle })
  }
  expect((await until(HANDLE_SECONDS - 60)).hit.id).toBe('page-1')
  await expect(until(61)).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    message: 'This handle has expired',
  })
})

test('nothing of all this was an error of ours', () => {
  const errors = system.logLines.filter((line) => line.includes('"level":"error"'))
  expect(errors.filter((line) => !line.includes('EMBEDDING_UNAVAILABLE'))).toEqual([])
})
