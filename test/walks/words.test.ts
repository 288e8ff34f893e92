/** The words of a question: ranked as BM25 ranks them, whatever they are and however they are kept; by which leg a hit was found. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { openPool, type Pool } from '../../db/managed/open-pool.ts'
import { dataSourceHealth, dataSources } from '../../db/schema.ts'
import {
  queryDataSource,
  saveSearchConfiguration,
  SearchEntry,
  showDataSource,
} from '../../src/contracts/data-sources.ts'
import { showConnectionString } from '../../src/contracts/databases.ts'
import { readTableInfo } from '../../src/cores/search/table-info.ts'
import { wordRows } from '../../src/cores/search/word-rows.ts'
import { refreshWordStatistics } from '../../src/cores/search/word-statistics.ts'
import {
  configurationOf,
  entry,
  inDatabase,
  makeSource,
  startWithDatabases,
  type Source,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { loadFile } from '../support/loads.ts'
import { makeOrganization, type Org } from '../support/make.ts'

let system: SystemWithDatabases
let [org, other]: Org[] = []
let source: Source
let pool: Pool | undefined

const VOCABULARY = Array.from({ length: 60 }, (_, at) => `w${String.fromCodePoint(97 + (at % 26))}${at}x`)

/** The same texts at every run: few words are frequent and many are rare, short rows and long ones. */
const TEXTS = Array.from({ length: 240 }, (_, row) => {
  let state = row * 7919 + 17
  const next = (below: number) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
  const words = Array.from({ length: 3 + next(90) }, () => VOCABULARY[Math.floor(next(60) ** 2 / 60)]!)
  return { id: `r${row}`, part: row % 3, text: words.join(' ') }
})

/** So many that what nearly all of them have is not worth looking for. */
const MANY = inject('everyCase') ? 12_000 : 120

const stored = `words tsvector generated always as (to_tsvector('simple', body)) stored`
const SQL = `
create table rows_of_words (id text, title text, body text, part int, embedding vector(3), ${stored});
insert into rows_of_words select v ->> 'id', null, v ->> 'text', (v ->> 'part')::int, '[1,0,0]'
  from jsonb_array_elements('${JSON.stringify(TEXTS)}') v;
create index on rows_of_words using gin (words);
create view seen as select * from rows_of_words;
create table parts (like rows_of_words including generated) partition by list (part);
create table part_0 partition of parts for values in (0);
create table part_1 partition of parts for values in (1);
create table part_2 partition of parts for values in (2);
insert into parts (id, title, body, part, embedding) select id, title, body, part, embedding from rows_of_words;
create index on parts using gin (words);
create table unkept (id text, body text, part int, embedding vector(3));
insert into unkept select id, body, part, embedding from rows_of_words;

create table repeated (id text, title text, body text, embedding vector(3), ${stored});
insert into repeated select n::text, null, repeat('again ', n) || repeat('other ', 300 - n), '[1,0,0]' from generate_series(1, 260) n;

create table things (id text, title text, body text,
  words tsvector generated always as (to_tsvector('english', body)) stored, embedding vector(3));
insert into things (id, body, embedding) select id, body, '[0,1,0]' from (values
  ('error', 'When ERR-4711 is shown, restart it'), ('order', 'Order 4711 was sent'), ('version', 'Since v2.3.1 it is faster'),
  ('mail', 'Write to sales@example.com'), ('setting', 'Set max_connections to more'), ('protein', 'A β-catenin assay'),
  ('compound', 'A state-of-the-art oven'), ('amount', 'It costs 1,250.50 now'), ('path', 'Look into /var/log/svc.log'),
  ('quote', 'O''Brien \\ says "no"'), ('chinese', '这台烤箱的保修期 是两年'), ('thai', 'เตาอบ รับประกัน'), ('nothing', 'And now for something else'))
  given (id, body);
insert into things (id, body) values ('without a vector', 'ERR-4711 v2.3.1 sales@example.com');

create table german (id text, title text, body text,
  words tsvector generated always as (to_tsvector('german', body)) stored, embedding vector(3));
insert into german (id, body, embedding) values ('houses', 'Die alten Häuser am Fluss', '[0,1,0]'), ('boat', 'Ein Boot', '[0,1,0]');

create table many (id text, title text, body text, part int, embedding vector(3), ${stored});
insert into many select n::text, null, 'common ' || case when n % 3 = 0 then 'often ' else '' end ||
  case when n in (7, 700, 7000) then 'seldom ' else '' end || case when n = 700 then 'seldom often' else '' end, 0, '[1,0,0]'
  from generate_series(1, ${MANY}) n;
create index on many using gin (words);
create view many_seen as select * from many;
create table many_unknown (like many including all) with (autovacuum_enabled = off);
insert into many_unknown (id, title, body, part, embedding) select id, title, body, part, embedding from many;
analyze many;

create table both_legs (id text, title text, body text, embedding vector(3));
insert into both_legs values ('near', null, 'nothing of it', '[1,0,0]'), ('named', null, 'zyzzyva', '[-1,0,0]'),
  ('both', null, 'zyzzyva', '[1,0.1,0]');
`

const hybrid = (table: string, more: Partial<SearchEntry> = {}) =>
  SearchEntry.parse(
    entry(table, {
      hybrid: true,
      text_search_column: 'words',
      text_search_language: 'simple',
      content_columns: 'id,title,body',
      ...more,
    }),
  )
const UNKEPT = SearchEntry.parse(
  entry('unkept', { hybrid: true, text_search_language: 'simple', content_columns: 'id,body' }),
)
const CONFIGURATION = configurationOf(
  [
    hybrid('rows_of_words'),
    hybrid('things', { text_search_language: 'english' }),
    hybrid('german', { text_search_language: 'german' }),
    hybrid('many'),
    entry('both_legs', { hybrid: true, content_columns: 'id,title,body' }),
  ],
  { part: 'number' },
)

beforeAll(async () => {
  system = await startWithDatabases()
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  source = await makeSource(org, { name: 'library', sql: SQL, configuration: CONFIGURATION })
  const { url } = await org.owner.call(showConnectionString, { name: 'library' })
  const { hostname: host, port, username: user, password, pathname } = new URL(url)
  pool = openPool(
    {
      host,
      port: Number(port),
      user,
      password: decodeURIComponent(password),
      database: pathname.slice(1),
      ssl: 'disable',
    },
    { statementTimeoutMs: 20_000, max: 1, idleSeconds: 60, parameters: {}, readOnly: true },
  )
})
afterAll(async () => {
  await pool?.end()
  await system.stop()
})

type Asked = { readonly part?: number; readonly limit?: number; readonly isCounted?: boolean }

/** Of the word leg alone: ids with what they are worth. */
async function wordsOf(
  about: SearchEntry,
  question: string,
  { part, limit = 50, isCounted = true }: Asked = {},
) {
  const tableInfo = (await readTableInfo(pool!, about.table))!
  const filters = part === undefined ? [] : [{ column: 'part', type: 'number' as const, values: [part] }]
  const statistics = isCounted ? STATISTICS : undefined
  const search = {
    entry: about,
    tableInfo,
    vector: [1, 0, 0],
    filters,
    access: 'all' as const,
    limit,
    statistics,
  }
  return (await wordRows(pool!, search, question)).map(({ hit: { id }, worth }) => ({ id, worth }))
}
const idsOf = async (...asked: Parameters<typeof wordsOf>) => (await wordsOf(...asked)).map(({ id }) => id)

const lengthOf = (text: string) => text.split(' ').length
const meanOf = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length
const STATISTICS = { rows: TEXTS.length, meanLength: meanOf(TEXTS.map(({ text }) => lengthOf(text))) }

/** BM25 by its definition, over all rows of `texts`. */
function bm25(texts: typeof TEXTS, question: string, mean = meanOf(texts.map(({ text }) => lengthOf(text)))) {
  const asked = [...new Set(question.split(' '))]
  const having = (word: string) => texts.filter(({ text }) => text.split(' ').includes(word)).length
  const weights = new Map(
    asked.map((word) => [word, Math.log(1 + (texts.length - having(word) + 0.5) / (having(word) + 0.5))]),
  )
  const worthOf = (text: string) =>
    asked.reduce((sum, word) => {
      const mentions = text.split(' ').filter((one) => one === word).length
      const norm = 1.2 * (1 - 0.75 + (0.75 * lengthOf(text)) / mean)
      return sum + (weights.get(word)! * mentions * 2.2) / (mentions + norm)
    }, 0)
  return texts
    .map(({ id, text }) => ({ id, worth: worthOf(text) }))
    .filter(({ worth }) => worth > 0)
    .toSorted((a, b) => b.worth - a.worth || (a.id < b.id ? -1 : 1))
}

const QUESTIONS = Array.from({ length: 6 }, (_, at) =>
  [at, at * 7 + 3, at * 11 + 20, 59 - at].map((word) => VOCABULARY[word % 60]!).join(' '),
)

function expectSame(found: Awaited<ReturnType<typeof wordsOf>>, expected: ReturnType<typeof bm25>): void {
  expect(found.map(({ id }) => id)).toEqual(expected.slice(0, found.length).map(({ id }) => id))
  for (const [at, { worth }] of found.entries()) expect(worth).toBeCloseTo(expected[at]!.worth, 5)
}

describe('BM25', () => {
  test.each(QUESTIONS)('by its definition: %s', async (question) => {
    const found = await wordsOf(hybrid('rows_of_words'), question)
    expect(found).toHaveLength(50)
    expectSame(found, bm25(TEXTS, question))
  })

  test('with a filter by the rows that it keeps: others move no score', async () => {
    for (const question of QUESTIONS) {
      const kept = TEXTS.filter(({ part }) => part === 1)
      const words = question.split(' ')
      const matching = kept.filter(({ text }) => words.some((word) => text.split(' ').includes(word)))
      const mean = meanOf(matching.map(({ text }) => lengthOf(text)))
      expectSame(
        await wordsOf(hybrid('rows_of_words'), question, { part: 1 }),
        bm25(kept, question, mean).slice(0, 50),
      )
    }
  })

  test('of a view, of partitions, and of words that are built at the question', async () => {
    const expected = await wordsOf(hybrid('rows_of_words'), QUESTIONS[1]!)
    for (const about of [hybrid('seen'), hybrid('parts'), UNKEPT]) {
      const found = await wordsOf(about, QUESTIONS[1]!)
      expect(found.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
      for (const [at, { worth }] of found.entries()) expect(worth).toBeCloseTo(expected[at]!.worth, 5)
    }
  })

  test('with a login that may read some columns only', async () => {
    const about = hybrid('rows_of_words')
    const tableInfo = (await readTableInfo(pool!, about.table))!
    expect(tableInfo).toMatchObject({ isWhole: true, hasStatistics: true })
    const narrow = { ...tableInfo, isWhole: false, hasStatistics: false }
    const statements: string[] = []
    const watched = {
      query: <Row extends object>(text: string, parameters?: readonly (string | null)[]) => {
        statements.push(text)
        return pool!.query<Row>(text, parameters)
      },
    }
    const search = {
      entry: about,
      tableInfo: narrow,
      vector: [1, 0, 0],
      filters: [],
      access: 'all' as const,
      limit: 50,
    }
    const found = await wordRows(watched, { ...search, statistics: STATISTICS }, QUESTIONS[1]!)
    expectSame(
      found.map(({ hit: { id }, worth }) => ({ id, worth })),
      bm25(TEXTS, QUESTIONS[1]!),
    )
    expect(statements.join()).not.toMatch(/ctid|tableoid,|pg_stats/)
  })

  test('counts each mention, up to the 255 that a tsvector keeps', async () => {
    const found = await wordsOf(hybrid('repeated'), 'again', { limit: 260, isCounted: false })
    expect(found).toHaveLength(260)
    const worth = new Map(found.map(({ id, worth: one }) => [Number(id), one]))
    const weight = Math.log(1 + 0.5 / 260.5)
    const lengths = Array.from({ length: 260 }, (_, at) => Math.min(at + 1, 255) + Math.min(299 - at, 255))
    const mean = meanOf(lengths)
    for (const mentions of [1, 2, 3, 10, 100, 255]) {
      const norm = 1.2 * (0.25 + (0.75 * lengths[mentions - 1]!) / mean)
      expect(worth.get(mentions)! / weight).toBeCloseTo((mentions * 2.2) / (mentions + norm), 5)
    }
  })

  test('statistics that are older than the rows rank as well', async () => {
    const about = hybrid('rows_of_words')
    const tableInfo = { ...(await readTableInfo(pool!, about.table))!, rows: 2 }
    const statistics = { rows: 3, meanLength: 40 }
    const search = {
      entry: about,
      tableInfo,
      vector: [1, 0, 0],
      filters: [],
      access: 'all' as const,
      limit: 5,
      statistics,
    }
    for (const { worth } of await wordRows(pool!, search, QUESTIONS[0]!)) expect(worth).toBeGreaterThan(0)
  })
})

describe.runIf(inject('everyCase'))('words that many rows have', () => {
  const few = { limit: 10, isCounted: false }
  const many = hybrid('many')
  const [unanalyzed, view] = [hybrid('many_unknown'), hybrid('many_seen')]

  test('find no rows where others do', async () => {
    for (const about of [many, unanalyzed, view]) {
      expect((await idsOf(about, 'common seldom', few)).toSorted()).toEqual(['7', '700', '7000'])
      const often = await idsOf(about, 'common often', few)
      expect(often.filter((id) => Number(id) % 3 > 0 && id !== '700')).toEqual([])
    }
  })

  test('count as much as they are frequent, with and without a filter', async () => {
    for (const about of [many, unanalyzed, view]) {
      for (const asked of [few, { ...few, part: 0 }]) {
        const [alone] = await wordsOf(about, 'seldom', asked)
        const [together] = await wordsOf(about, 'common seldom', asked)
        expect(together!.worth - alone!.worth).toBeGreaterThan(0)
        expect(together!.worth - alone!.worth).toBeLessThan(0.01)
      }
    }
  })

  test('answer a question of nothing else', async () => {
    for (const about of [many, unanalyzed, view]) expect(await idsOf(about, 'common', few)).toHaveLength(10)
  })
})

describe('as it is written', () => {
  const things = hybrid('things', { text_search_language: 'english' })
  test.each([
    ['what is ERR-4711?', 'error'],
    ['err-4711', 'error'],
    ['order 4711', 'order'],
    ['is v2.3.1 faster', 'version'],
    ['sales@example.com', 'mail'],
    ['max_connections', 'setting'],
    ['β-catenin', 'protein'],
    ['state-of-the-art', 'compound'],
    ['1,250.50', 'amount'],
    ['/var/log/svc.log', 'path'],
    [`O'Brien \\`, 'quote'],
    ['这台烤箱的保修期', 'chinese'],
    ['รับประกัน', 'thai'],
  ])('%s', async (question, id) => {
    expect((await idsOf(things, question, { isCounted: false }))[0]).toBe(id)
  })

  test('a number is found behind a hyphen, and the other way round', async () => {
    expect((await idsOf(things, '4711', { isCounted: false })).toSorted()).toEqual(['error', 'order'])
    expect((await idsOf(things, 'ABC-4711', { isCounted: false })).toSorted()).toEqual(['error', 'order'])
  })

  test('in the language of the source', async () => {
    const german = hybrid('german', { text_search_language: 'german' })
    expect(await idsOf(german, 'Haus am Fluss', { isCounted: false })).toEqual(['houses'])
    const simple = { ...german, text_search_language: 'simple' }
    expect(await idsOf(german, 'Häuser', { isCounted: false })).toEqual(['houses'])
    expect(await idsOf(simple, 'Häuser', { isCounted: false })).toEqual([])
  })

  test('a question without a word finds none', async () => {
    for (const question of ['…', '?', '\\', "'", '<->', '!', 'the and of', ' '.repeat(50)]) {
      expect(await idsOf(things, question, { isCounted: false })).toEqual([])
    }
  })

  test('of a page that is pasted the first words are searched for', async () => {
    const page = Array.from({ length: 400 }, (_, at) => `word${at}`).join(' ')
    expect(await idsOf(things, `state-of-the-art ${page}`, { isCounted: false })).toEqual(['compound'])
    expect(await idsOf(things, `${page} state-of-the-art`, { isCounted: false })).toEqual([])
  })
})

describe('hybrid', () => {
  const ask = (query: string, target: string, who = org!) =>
    who.owner.call(queryDataSource, { source_id: source.sourceId, query, target, top_k: 3 })

  test('a hit says which leg found it', async () => {
    const { results } = await ask('zyzzyva [1,0,0]', 'both_legs')
    const foundBy = new Map(results.map(({ id, metadata }) => [id, metadata['_found_by']]))
    expect([...foundBy.keys()][0]).toBe('both')
    expect(foundBy.get('both')).toEqual(['meaning', 'words'])
    expect(foundBy.get('near')).toEqual(['meaning'])
    for (const { metadata } of results) expect(metadata['_mode']).toBe('hybrid')
  })

  test.runIf(inject('everyCase'))(
    'another organization’s source of the same name has words of its own',
    async () => {
      await makeSource(other!, {
        name: 'library',
        sql: `create table both_legs (id text, title text, body text, embedding vector(3));
        insert into both_legs values ('theirs', null, 'zyzzyva', '[1,0,0]')`,
        configuration: configurationOf([
          entry('both_legs', { hybrid: true, content_columns: 'id,title,body' }),
        ]),
      })
      expect((await ask('zyzzyva', 'both_legs', other)).results.map(({ id }) => id)).toEqual(['theirs'])
      expect((await ask('zyzzyva', 'both_legs')).results.map(({ id }) => id)).not.toContain('theirs')
    },
  )

  test('a row without a vector is not found, and does not keep others from being found', async () => {
    const { results } = await ask('ERR-4711 v2.3.1 sales@example.com', 'things')
    expect(results[0]?.id).toBe('error')
    expect(results.map(({ id }) => id)).not.toContain('without a vector')
  })
})

describe('statistics', () => {
  const statisticsOf = async (of = source) => {
    const [row] = await system.db.select().from(dataSources).where(eq(dataSources.id, of.id))
    return row!.wordStatistics
  }

  test('are taken at the save, and at the look at its health', async () => {
    const before = await statisticsOf()
    expect(before?.['rows_of_words']).toEqual({
      rows: TEXTS.length,
      meanLength: expect.closeTo(STATISTICS.meanLength, 6) as number,
    })
    expect(before?.['many']?.rows).toBe(MANY)
    expect(before).not.toHaveProperty('both_legs')
    await inDatabase(org!, 'library', (sql) =>
      sql.unsafe(`insert into german (id, body, embedding) values ('more', 'noch mehr', '[0,1,0]')`),
    )
    system.clock.advance(600)
    await org!.owner.call(showDataSource, { source_id: source.sourceId })
    await expect.poll(async () => (await statisticsOf())?.['german']?.rows).toBe(3)
    // Not at every look, nor by every process.
    const looks = () =>
      system.db
        .select({ began: dataSourceHealth.checkBegan })
        .from(dataSourceHealth)
        .where(eq(dataSourceHealth.sourceId, source.id))
    const before5Minutes = await looks()
    system.clock.advance(60)
    await org!.owner.call(showDataSource, { source_id: source.sourceId })
    expect(await looks()).toEqual(before5Minutes)
  })

  test('that were taken for an earlier configuration are not written over those of a later one', async () => {
    const before = await statisticsOf()
    const [row] = await system.db.select().from(dataSources).where(eq(dataSources.id, source.id))
    const earlier = { ...row!, configuredAt: new Date(row!.configuredAt!.getTime() - 1) }
    await refreshWordStatistics(system, undefined as never, earlier, new Map())
    expect(await statisticsOf()).toEqual(before)
  })

  test.runIf(inject('everyCase'))('are taken again when a load has added rows', async () => {
    const made = await makeSource(org!, { name: 'loaded' })
    const plan = { id_column: 'id', embed_columns: ['body'], model: 'toy-3', table: 'pages' }
    const load = (csv: string, more: object) =>
      loadFile(system, org!.owner.call, 'loaded', csv, { ...plan, ...more })
    await load('id,body\n1,one two three\n', { save_configuration: true })
    expect(await statisticsOf(made)).toEqual({ pages: { rows: 1, meanLength: 3 } })
    await load('id,body\n2,one\n', { append: true })
    expect(await statisticsOf(made)).toEqual({ pages: { rows: 2, meanLength: 2 } })
  })

  test.runIf(inject('everyCase'))('of a configuration that is replaced are replaced', async () => {
    const made = await makeSource(org!, {
      name: 'replaced',
      sql: `create table t (id text, title text, words tsvector, embedding vector(3));
        insert into t values ('1', null, to_tsvector('simple', 'a b'), '[1,0,0]')`,
      configuration: configurationOf([hybrid('t', { content_columns: 'id,title' })]),
    })
    expect(await statisticsOf(made)).toEqual({ t: { rows: 1, meanLength: 2 } })
    await org!.owner.call(saveSearchConfiguration, {
      source_id: made.sourceId,
      ...configurationOf([entry('t')]),
    })
    expect(await statisticsOf(made)).toEqual({})
  })
})
