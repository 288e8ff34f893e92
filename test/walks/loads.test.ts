/** A file becomes a table that can be asked: all of it or nothing, for its own organization, after a kill as well. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { stagingName } from '../../db/managed/drop-staged-table.ts'
import { and, eq, sql } from '../../db/drizzle.ts'
import { apiTokens, dataSources, embeddingCounts, loads } from '../../db/schema.ts'
import {
  queryDataSource,
  saveSearchConfiguration,
  setDataSourceExposure,
  setDataSourceState,
  showDataSource,
} from '../../src/contracts/data-sources.ts'
import { createDatabase, removeDatabase } from '../../src/contracts/databases.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import { createEmbeddings } from '../../src/contracts/embeddings.ts'
import { makeId } from '../../src/contracts/ids.ts'
import {
  LOAD_GIVE_UP_SECONDS,
  LOADS_UNFINISHED_MAX,
  LOADS_UNFINISHED_PER_PERSON,
  LOAD_PART_BYTES,
  LOAD_PART_MIN_BYTES,
  LOAD_RECORD_BYTES,
  LOAD_UNDO_DAYS,
  VALIDATION_CURRENT_SECONDS,
} from '../../src/contracts/limits.ts'
import {
  cancelLoad,
  createLoad,
  listLoads,
  previewLoad,
  showLoad,
  startLoad,
  undoLoad,
  uploadLoadPart,
} from '../../src/contracts/loads.ts'
import { changeMemberRole, removeMember } from '../../src/contracts/members.ts'
import type { Principal } from '../../src/contracts/operation.ts'
import { revokeApiToken } from '../../src/contracts/tokens.ts'
import {
  createEmbeddings as embed,
  createTextEmbedding,
  takeTokens,
} from '../../src/cores/embeddings/index.ts'
import {
  changeStaged,
  contentTable,
  createStaging,
  readContent,
  removeStaging,
  storePart,
} from '../../src/cores/loads/staging.ts'
import { writeToDatabase, type Queries } from '../../src/cores/databases/index.ts'
import { takeLoadStep, uploadLoadPart as uploadPart, type LoadDeps } from '../../src/cores/loads/index.ts'
import type { EmbeddingModels } from '../../src/cores/search/index.ts'
import { startLoads } from '../../src/worker/loads.ts'
import { inDatabase, startWithDatabases, type SystemWithDatabases } from '../support/data-sources.ts'
import {
  announced,
  loadFile,
  never,
  startFile,
  stepPerTurn,
  takeLoadSteps,
  takeUntil,
  uploadFile,
  withoutAnswers,
} from '../support/loads.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'

let system: SystemWithDatabases
let org: Org
let other: Org
let developer: Person

beforeAll(async () => {
  system = await startWithDatabases()
  org = await lasting(await makeOrganization(system))
  other = await lasting(await makeOrganization(system))
  const person = await makeMember(system, org, 'developer')
  developer = { ...person, ...(await makeApiToken(system, org, person)) }
  for (const { owner } of [org, other]) await owner.call(createDatabase, { name: 'shop' })
})
afterAll(() => system.stop())

/** By a token: sessions end within the days that the clock is advanced by. */
async function lasting(made: Org): Promise<Org> {
  return { ...made, owner: { ...made.owner, ...(await makeApiToken(system, made, made.owner)) } }
}

const CSV = `sku,name,description,price,in_stock
T1,Tent,"[1,0,0] a light tent, for two",199.90,true
S1,Stove,"[0,1,0] burns ""wood""",49,false
B1,Bottle,"[0,0,1] keeps tea warm",,true
`
const PLAN = {
  id_column: 'sku',
  title_column: 'name',
  embed_columns: ['description'],
  model: 'toy-3',
}
const table = () => unique('t').replaceAll('-', '_')
const refused = (code: string) => expect.objectContaining({ code })
const rowsIn = (of: Org, name: string, statement: string) =>
  inDatabase(of, name, (sql) => sql.unsafe(statement))
const tablesOf = (of: Org) =>
  rowsIn(
    of,
    'shop',
    `select table_schema || '.' || table_name as name from information_schema.tables
      where table_schema in ('public', 'svc_loads') order by 1`,
  )
const stagedOf = (of: Org, loadId: string) =>
  rowsIn(
    of,
    'shop',
    `select from pg_tables where schemaname = 'svc_loads' and starts_with(tablename, '${loadId}')`,
  )

/** As steps do it. */
async function inShop<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
  const isShop = and(eq(dataSources.orgId, org.id), eq(dataSources.name, 'shop'))
  const [source] = await system.db.select().from(dataSources).where(isShop)
  return writeToDatabase(system.system.gateway!, source!, work)
}

describe('a file that is loaded', () => {
  test('is asked at once, by its organization and nobody else', async () => {
    const name = table()
    const load = await loadFile(system, developer.call, 'shop', CSV, {
      ...PLAN,
      table: name,
      save_configuration: true,
    })
    expect(load).toMatchObject({
      state: 'succeeded',
      rows: 3,
      embedded: 3,
      problems: [],
      failure: null,
      configuration_saved: true,
    })
    for (const { owner } of [org, other]) {
      await owner.call(setDataSourceState, { source_id: 'db_shop', enabled: true })
      await owner.call(setDataSourceExposure, { source_id: 'db_shop', exposed: true })
    }
    const asked = { source_id: 'db_shop', query: '[0,1,0]', target: name, filters: { in_stock: 'false' } }
    const { results } = await org.owner.call(queryDataSource, asked)
    expect(results).toMatchObject([
      { id: 'S1', title: 'Stove', metadata: { description: '[0,1,0] burns "wood"', in_stock: false } },
    ])
    await expect(other.owner.call(queryDataSource, asked)).rejects.toEqual(refused('NO_SEMANTIC_SEARCH'))
    expect((await tablesOf(other)).map(({ name: found }) => found)).toEqual([])
  })

  test('has types, words and indexes, and leaves nothing staged', async () => {
    const name = table()
    await loadFile(system, org.owner.call, 'shop', CSV, { ...PLAN, table: name })
    const columns = await rowsIn(
      org,
      'shop',
      `select column_name::text as name, data_type::text as type from information_schema.columns
        where table_name = '${name}' order by ordinal_position`,
    )
    expect(columns.map(({ name: column, type }) => [column, type])).toEqual([
      ['sku', 'text'],
      ['name', 'text'],
      ['description', 'text'],
      ['price', 'numeric'],
      ['in_stock', 'boolean'],
      ['embedding', 'USER-DEFINED'],
      ['words', 'tsvector'],
    ])
    const indexes = await rowsIn(org, 'shop', `select indexdef from pg_indexes where tablename = '${name}'`)
    expect(
      indexes.map(({ indexdef }) => /using (\w+)/i.exec(String(indexdef))?.[1] ?? '').toSorted(),
    ).toEqual(['btree', 'btree', 'btree', 'gin', 'hnsw'])
    expect(
      (await tablesOf(org))
        .map(({ name: found }) => found)
        .filter((found) => String(found).startsWith('svc_loads')),
    ).toEqual([])
  })

  test('without an id its rows are numbered, and NDJSON does as well', async () => {
    const name = table()
    const file = '{"text":"[1,0,0] one"}\n{"text":"[0,1,0] two"}\n'
    const load = await loadFile(
      system,
      org.owner.call,
      'shop',
      file,
      { table: name, embed_columns: ['text'], model: 'toy-3' },
      'ndjson',
    )
    expect(load).toMatchObject({ state: 'succeeded', rows: 2 })
    const rows = await rowsIn(org, 'shop', `select row_number as id, text from ${name} order by 1`)
    expect(rows).toMatchObject([
      { id: '1', text: '[1,0,0] one' },
      { id: '2', text: '[0,1,0] two' },
    ])
  })

  test('of NDJSON has nested values as columns and lists as lists, which can be asked for', async () => {
    const name = table()
    const file =
      '{"id":1,"text":"[1,0,0] tent","tags":["light","two persons"],"maker":{"name":"A"}}\n' +
      '{"id":2,"text":"[0,1,0] stove","tags":[]}\n{"id":3,"text":"[0,0,1] cup","maker":{"name":null}}\n'
    const plan = { ...PLAN, id_column: 'id', title_column: undefined, embed_columns: ['text'], table: name }
    const load = await loadFile(system, org.owner.call, 'shop', file, plan, 'ndjson')
    expect(load).toMatchObject({ state: 'succeeded', configuration: { filter_schema: { tags: 'string' } } })
    expect(await rowsIn(org, 'shop', `select id, tags, maker_name from ${name} order by id`)).toEqual([
      { id: '1', tags: ['light', 'two persons'], maker_name: 'A' },
      { id: '2', tags: [], maker_name: '' },
      { id: '3', tags: null, maker_name: '' },
    ])
    const again = file.replace('"light",', '')
    const changed = await loadFile(system, org.owner.call, 'shop', again, { ...plan, upsert: true }, 'ndjson')
    expect(changed).toMatchObject({ state: 'succeeded', changes: { added: 0, changed: 1, gone: 0 } })
    expect(await rowsIn(org, 'shop', `select id from ${name} where tags && array['light']`)).toEqual([])
    const csv = await loadFile(system, org.owner.call, 'shop', 'id,text,tags\n1,a,light\n', {
      ...plan,
      upsert: true,
    })
    expect(csv.problems).toEqual(['line 2: column tags of the table is a list'])
  })

  test('of NDJSON or JSON has lists of objects as JSON, with numbers as they are written', async () => {
    const name = table()
    const rows = [
      '{"id":1,"text":"[1,0,0] tent","parts":[{"name":"pole","n":12345678901234567890.10},["a",1.50,null]]}',
      '{"id":2,"text":"[0,1,0] stove","parts":[1,"x"]}',
      '{"id":3,"text":"[0,0,1] cup"}',
    ]
    const plan = { ...PLAN, id_column: 'id', title_column: undefined, embed_columns: ['text'], table: name }
    const load = await loadFile(system, org.owner.call, 'shop', rows.join('\n'), plan, 'ndjson')
    expect(load).toMatchObject({ state: 'succeeded', problems: [], configuration: { filter_schema: {} } })
    const stored = async () => rowsIn(org, 'shop', `select id, parts::text as parts from ${name} order by id`)
    const before = await stored()
    expect(before).toEqual([
      { id: '1', parts: '[{"n": 12345678901234567890.10, "name": "pole"}, ["a", 1.50, null]]' },
      { id: '2', parts: '[1, "x"]' },
      { id: '3', parts: null },
    ])
    const upsert = { ...plan, upsert: true }
    const same = await loadFile(system, org.owner.call, 'shop', `[${rows.join()}]`, upsert, 'json')
    expect(same).toMatchObject({ state: 'succeeded', changes: { added: 0, changed: 0, gone: 0 } })
    expect(await stored()).toEqual(before)
    const deep = `{"id":4,"text":"x","parts":[{"a":${'['.repeat(80)}${']'.repeat(80)}}]}`
    const bad = [
      rows[0],
      deep,
      '{"id":5,"text":"x","parts":[{"n":1e999}]}',
      String.raw`{"id":6,"text":"x","parts":[{"\u0000":1}]}`,
    ]
    const refusedFile = await loadFile(system, org.owner.call, 'shop', bad.join('\n'), upsert, 'ndjson')
    expect(refusedFile.problems.map((problem) => problem.slice(0, 24))).toEqual([
      'line 2: a value is a lis',
      'line 3: a value is a lis',
      'line 4: a value is a lis',
    ])
    const filtered = { ...upsert, filter_columns: ['parts'] }
    await expect(
      startFile(org.owner.call, 'shop', rows.join('\n'), filtered, 'ndjson'),
    ).rejects.toMatchObject({ problems: ['filter_columns: parts holds lists of objects'] })
  })

  test('keeps what was configured before, and prints what would be saved', async () => {
    const [first, second] = [table(), table()]
    await org.owner.call(createDatabase, { name: 'kept' })
    await loadFile(system, org.owner.call, 'kept', CSV, { ...PLAN, table: first, save_configuration: true })
    const load = await loadFile(system, org.owner.call, 'kept', CSV, { ...PLAN, table: second })
    expect(load.configuration_saved).toBe(false)
    expect(load.configuration?.connection_config.embedding_configs.map((entry) => entry.table)).toEqual([
      first,
      second,
    ])
    const saved = await org.owner.call(saveSearchConfiguration, {
      source_id: 'db_kept',
      ...load.configuration!,
    })
    expect(saved.notes).toEqual([])
    expect(saved.filter_schema).toEqual({ price: 'number', in_stock: 'boolean' })
  })

  test('formulas, NULs of names and quotes of SQL are data', async () => {
    const name = table()
    const file =
      `id,"na""me'; drop table x; --",text\n"1'); --","=HYPERLINK(""http://x"")",[1,0,0]\n`.replace(
        '[1,0,0]',
        '"[1,0,0]"',
      )
    const load = await loadFile(system, org.owner.call, 'shop', file, {
      table: name,
      id_column: 'id',
      embed_columns: ['text'],
      model: 'toy-3',
    })
    expect(load).toMatchObject({ state: 'succeeded' })
    const rows = await rowsIn(org, 'shop', `select id, na_me_drop_table_x as name from ${name}`)
    expect(rows).toMatchObject([{ id: "1'); --", name: '=HYPERLINK("http://x")' }])
  })
})

describe('a bad file', () => {
  test('that does not have the SHA-256 that was announced is not loaded', async () => {
    const name = table()
    const { id: load_id } = await org.owner.call(createLoad, {
      ...announced('shop', CSV),
      sha256: announced('shop', `${CSV} `).sha256,
    })
    const body = new Uint8Array(Buffer.from(CSV))
    await org.owner.call(uploadLoadPart, { load_id, offset: 0, body })
    await org.owner.call(startLoad, { load_id, ...PLAN, table: name })
    await takeLoadSteps(system)
    expect(await org.owner.call(showLoad, { load_id })).toMatchObject({
      state: 'failed',
      failure: expect.stringContaining('SHA-256'),
    })
    expect((await tablesOf(org)).map(({ name: found }) => found)).not.toContain(`public.${name}`)
  })

  test('is told with every problem and its line, and nothing is made', async () => {
    const name = table()
    const before = await tablesOf(org)
    const file = 'sku,name,description\nA,x,"[1,0,0]"\nB,y\nA,z,"[1,0,0]"\n,w,"[1,0,0]"\nC,v,\n'
    const load = await loadFile(system, org.owner.call, 'shop', file, { ...PLAN, table: name })
    expect(load).toMatchObject({
      state: 'failed',
      problem_count: 4,
      problems: [
        'line 3: the row has 2 values, and the header has 3',
        'line 4: the id is that of line 2',
        'line 5: column sku, the id, is empty',
        'line 6: there is no text to embed',
      ],
      configuration: null,
    })
    expect(load.failure).toMatch(/Nothing was loaded/)
    expect(await tablesOf(org)).toEqual(before)
  })

  test('of thousands of ids that are there twice, all are counted', async () => {
    const file = `sku,name,description\n${'A,x,"[1,0,0]"\n'.repeat(301)}`
    const load = await loadFile(system, org.owner.call, 'shop', file, { ...PLAN, table: table() })
    expect(load.problem_count).toBe(300)
    expect(load.problems).toHaveLength(100)
  })

  test('a header that is too much for a table is refused at once, also in the preview', async () => {
    const { id: load_id } = await uploadFile(org.owner.call, 'shop', `${','.repeat(250_000)}\n1\n`)
    const preview = await org.owner.call(previewLoad, { load_id })
    expect(preview).toMatchObject({ columns: [], rows: [], problems: [expect.stringMatching(/^line 1:/)] })
    await expect(org.owner.call(startLoad, { load_id, ...PLAN })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: preview.problems,
    })
    // It has ended with that: nothing of it is left to take a place.
    expect(await org.owner.call(showLoad, { load_id })).toMatchObject({ state: 'failed' })
    await takeLoadSteps(system)
    expect(await stagedOf(org, load_id)).toEqual([])
  })

  test('names with NUL or half a character are told, and are no failure of ours', async () => {
    const plan = { table: table(), embed_columns: ['text'], model: 'toy-3' }
    const file = '{"a\\u0000":"x","\\ud83d":"y","text":"[1,0,0]"}\n'
    await expect(startFile(org.owner.call, 'shop', file, plan, 'ndjson')).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: [1, 2].map((at) => `line 1: column ${at} has a name that cannot be stored`),
    })
  })

  test('a language that the database does not have is refused before it starts', async () => {
    const plan = { ...PLAN, table: table(), language: 'englsh' }
    await expect(startFile(org.owner.call, 'shop', CSV, plan)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: [expect.stringMatching(/^language: must be one of .*english/)],
    })
  })

  test('of thousands of problems the first hundred are listed and all are counted', async () => {
    const file = `sku,name,description\n${'A\n'.repeat(3_000)}`
    const load = await loadFile(system, org.owner.call, 'shop', file, { ...PLAN, table: table() })
    expect(load.problem_count).toBe(3_000)
    expect(load.problems).toHaveLength(100)
  })

  test('that consists of one quote is refused without being held in memory', async () => {
    const file = `sku,name,description\n"${'x'.repeat(5 * LOAD_RECORD_BYTES)}`
    const load = await loadFile(system, org.owner.call, 'shop', file, { ...PLAN, table: table() })
    expect(load).toMatchObject({ state: 'failed', problem_count: 1 })
    expect(load.problems[0]).toMatch(/^line 2: a quoted value/)
  })

  test('without rows, and with a header that cannot be one', async () => {
    const empty = await loadFile(system, org.owner.call, 'shop', 'sku,name,description\n', {
      ...PLAN,
      table: table(),
    })
    expect(empty).toMatchObject({ state: 'failed', problems: ['line 2: the file has no rows'] })
    const twice = startFile(org.owner.call, 'shop', 'sku,sku,\n1,2,3\n', { ...PLAN, table: table() })
    await expect(twice).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: ['line 1: column 2 has the name of an earlier one', 'line 1: column 3 has no name'],
    })
  })

  test('and columns that it does not have are refused before it starts', async () => {
    const plan = { ...PLAN, table: table(), embed_columns: ['body'], title_column: 'headline' }
    await expect(startFile(org.owner.call, 'shop', CSV, plan)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: [
        'title_column: the file has no column headline',
        'embed_columns: the file has no column body',
      ],
    })
  })
})

describe('a table that is there', () => {
  test('is refused, unless rows are appended, and those are all or none', async () => {
    const name = table()
    await loadFile(system, org.owner.call, 'shop', CSV, { ...PLAN, table: name })
    const again = startFile(org.owner.call, 'shop', `${CSV}N1,New,"[1,0,0]",1,true\n`, {
      ...PLAN,
      table: name,
    })
    await expect(again).rejects.toEqual(refused('CONFLICT'))
    const more =
      'sku,name,description,price,in_stock\nN1,New,"[1,1,0]",1,true\nN2,New,"[1,1,0]",x,true\nT1,New,"[1,1,0]",1,maybe\n'
    const wrong = await loadFile(system, org.owner.call, 'shop', more, { ...PLAN, table: name, append: true })
    expect(wrong).toMatchObject({
      state: 'failed',
      problems: [
        'line 3: column price of the table is a number',
        'line 4: the table has a row with this id',
        'line 4: column in_stock of the table is true or false',
      ],
    })
    const good = more.replace(',x,', ',2,').replace('T1', 'N3').replace('maybe', 'false')
    const appended = await loadFile(system, org.owner.call, 'shop', good, {
      ...PLAN,
      table: name,
      append: true,
    })
    expect(appended).toMatchObject({ state: 'succeeded', append: true })
    const [count] = await rowsIn(org, 'shop', `select count(*)::int as n from ${name}`)
    expect(count).toMatchObject({ n: 6 })
  })

  test('takes no rows of another model, and no number that it has in another form', async () => {
    const name = table()
    await loadFile(system, org.owner.call, 'shop', CSV, { ...PLAN, table: name })
    const more = CSV.replace('T1', 'T2').replace('S1', 'S2').replace('B1', 'B2')
    const plan = { ...PLAN, table: name, append: true }
    await expect(
      startFile(org.owner.call, 'shop', more, { ...plan, model: 'toy-grown' }),
    ).rejects.toMatchObject({
      code: 'CONFLICT',
      problems: ['the rows of the table are embedded with toy-3, not toy-grown'],
    })
    const numbered = table()
    await rowsIn(
      org,
      'shop',
      `create table ${numbered} (n numeric primary key, text text, embedding vector(3));
        insert into ${numbered} values (7.0, 'x', '[1,0,0]')`,
    )
    const wrong = await loadFile(system, org.owner.call, 'shop', 'n,text\n1,"[1,0,0]"\n1.0,b\n7,c\n', {
      table: numbered,
      id_column: 'n',
      embed_columns: ['text'],
      model: 'toy-3',
      append: true,
    })
    expect(wrong.problems).toEqual([
      'line 3: the id is that of line 2',
      'line 4: the table has a row with this id',
    ])
  })

  test('reads what can be meant in two ways as it was written before, or asks which is meant', async () => {
    const name = table()
    const [header, plan] = ['id;day;at;price;rate\n', { table: name, id_column: 'id', embed_columns: [] }]
    const load = (rows: string, more: object = {}) =>
      loadFile(system, org.owner.call, 'shop', header + rows, { ...plan, ...more })
    const valuesOf = (id: string) =>
      rowsIn(
        org,
        'shop',
        `select day::text, at::text, price::text, rate::text from ${name} where id = '${id}'`,
      )
    await load('1;3/25/2026;3/25/2026 9:30;1.234,5;0.5\n')
    const asBefore = [{ day: '2026-03-04', at: '2026-03-04 09:30:00', price: '1500', rate: '1.500' }]
    const row = (id: number) => `${id};3/4/2026;3-4-2026 9:30;1.500;1.500\n`
    expect(await load(row(2), { append: true })).toMatchObject({ state: 'succeeded' })
    expect(await valuesOf('2')).toEqual(asBefore)
    expect(await load(row(3), { upsert: true })).toMatchObject({ state: 'succeeded' })
    expect(await valuesOf('3')).toEqual(asBefore)
    // Also by a file that says nothing of it, and one whose columns are empty.
    for (const rows of ['4;3/3/2026;;7;7\n', '5;;;;\n', row(6)]) {
      expect(await load(rows, { replace: true })).toMatchObject({ state: 'succeeded' })
    }
    expect(await valuesOf('6')).toEqual(asBefore)

    const thousands = await load('7;;;;1\n8;;;;1,234\n', { append: true })
    expect(thousands).toMatchObject({
      state: 'failed',
      problems: ['line 3: column rate can be meant in two ways; choose its type'],
    })
    for (const column of ['day', 'at', 'price', 'rate'])
      await rowsIn(org, 'shop', `comment on column ${name}.${column} is null`)
    for (const more of [{ append: true }, { replace: true }]) {
      expect(await load(`9;3/3/2026;;7;7\n${row(10)}`, more)).toMatchObject({
        state: 'failed',
        problems: ['day', 'at', 'price', 'rate'].map(
          (column) => `line 3: column ${column} can be meant in two ways; choose its type`,
        ),
      })
    }
    const types = { day: 'date_dmy', at: 'timestamp_mdy', price: 'number', rate: 'number_comma' }
    expect(await load(row(11), { append: true, types })).toMatchObject({ state: 'succeeded' })
    expect(await valuesOf('11')).toEqual([
      { day: '2026-04-03', at: '2026-03-04 09:30:00', price: '1.500', rate: '1500' },
    ])
  }, 60_000)

  test('that appeared meanwhile ends the load, and is not touched', async () => {
    const name = table()
    const load = await startFile(org.owner.call, 'shop', CSV, { ...PLAN, table: name })
    await rowsIn(org, 'shop', `create table ${name} (mine int)`)
    await takeLoadSteps(system)
    const ended = await org.owner.call(showLoad, { load_id: load.id })
    expect(ended).toMatchObject({ state: 'failed', configuration: null })
    expect(ended.failure).toMatch(/made meanwhile/)
    await rowsIn(org, 'shop', `select mine from ${name}`)
  })
})

describe('a table that is loaded again', () => {
  const HEADER = 'sku,name,description,price,in_stock\n'
  const NEXT = `${HEADER}T1,Tent,"[1,0,0] a light tent, for two",149.90,true
B1,Bottle,"[0,0,1] keeps tea cold",,true
L1,Lamp,"[1,1,0] glows",12,true
`
  const contentOf = (of: Org, name: string) =>
    rowsIn(
      of,
      'shop',
      `select sku, name, description, price::text, in_stock, embedding::text from ${name} order by sku`,
    )
  /** How many texts are embedded from here on. */
  const countTexts = () => {
    const deps = system.system.gateway!
    let texts = 0
    const counting: LoadDeps = {
      ...deps,
      embedTexts: (orgId, model, given, ...rest) => {
        texts += given.length
        return deps.embedTexts(orgId, model, given, ...rest)
      },
    }
    return { counting, texts: () => texts }
  }
  async function reload(file: string, plan: object) {
    const { counting, texts } = countTexts()
    const { id } = await startFile(org.owner.call, 'shop', file, { ...PLAN, ...plan })
    while (await takeLoadStep(counting, never));
    return { load: await org.owner.call(showLoad, { load_id: id }), texts: texts() }
  }

  test.each([
    ['replace', { replace: true }, 'B1 L1 T1', { added: 1, changed: 2, gone: 1 }],
    ['upsert', { upsert: true }, 'B1 L1 S1 T1', { added: 1, changed: 2, gone: 0 }],
    ['delete-missing', { upsert: true, delete_missing: true }, 'B1 L1 T1', { added: 1, changed: 2, gone: 1 }],
  ])('by %s: counted, then changed, undone and done again', async (_, mode, ids, changes) => {
    const name = table()
    await loadFile(system, org.owner.call, 'shop', CSV, { ...PLAN, table: name })
    const before = await contentOf(org, name)
    const dry = await reload(NEXT, { table: name, ...mode, dry_run: true })
    expect(dry.load).toMatchObject({
      state: 'succeeded',
      dry_run: true,
      changes,
      undo_until: null,
      configuration: null,
    })
    expect([dry.texts, await contentOf(org, name)]).toEqual([0, before])
    expect(await stagedOf(org, dry.load.id)).toEqual([])

    const { load, texts } = await reload(NEXT, { table: name, ...mode })
    expect(load).toMatchObject({ state: 'succeeded', changes, undone: false })
    // The tent's price has changed, and its text has not.
    expect(texts).toBe(2)
    const after = await contentOf(org, name)
    expect(after.map(({ sku }) => String(sku)).join(' ')).toBe(ids)
    expect(after.find(({ sku }) => sku === 'T1')).toMatchObject({ price: '149.90', embedding: '[1,0,0]' })
    expect(after.find(({ sku }) => sku === 'B1')).toMatchObject({ description: '[0,0,1] keeps tea cold' })

    const undo = (undone: boolean) => org.owner.call(undoLoad, { load_id: load.id, undone })
    await expect(other.owner.call(undoLoad, { load_id: load.id })).rejects.toEqual(refused('NOT_FOUND'))
    for (let times = 0; times < 2; times += 1) {
      expect(await undo(true)).toMatchObject({ undone: true })
      expect(await contentOf(org, name)).toEqual(before)
    }
    expect(await undo(false)).toMatchObject({ undone: false })
    expect(await contentOf(org, name)).toEqual(after)
    const [words] = await rowsIn(
      org,
      'shop',
      `select count(*)::int as n from ${name} where words @@ 'tea'::tsquery`,
    )
    expect(words).toMatchObject({ n: 1 })

    // The next load of the table gives up what this one has replaced.
    const next = await reload(CSV, { table: name, ...mode })
    await takeLoadSteps(system)
    expect(await stagedOf(org, load.id)).toEqual([])
    await expect(undo(true)).rejects.toEqual(refused('CONFLICT'))
    expect(await stagedOf(org, next.load.id)).not.toEqual([])
    system.clock.advance(LOAD_UNDO_DAYS * 24 * 60 * 60 + 1)
    await takeLoadSteps(system)
    expect(await stagedOf(org, next.load.id)).toEqual([])
    expect(await org.owner.call(showLoad, { load_id: next.load.id })).toMatchObject({ undo_until: null })
  })

  /** Each is a passage, with other blanks than the text: two of them are more than the model reads. */
  const essay = (...vectors: string[]) =>
    vectors.map((vector) => `[${vector}] thin\u00a0and\nlong ${'paper '.repeat(170)}`.trim()).join('\n\n')
  const essays = (...vectors: string[]) =>
    `${HEADER}E1,Essay,"${essay(...vectors)}",1,true\nS1,Stove,"[0.8,0.2,0] short",2,false\n`

  test.each([
    ['replace', { replace: true }],
    ['upsert', { upsert: true }],
  ])(
    'by %s: a text that is longer than the model reads is found by each of its passages',
    async (_, mode) => {
      const name = table()
      const first = await reload(essays('1,0,0', '0,1,0', '0,0,1', '1,1,0', '-1,0,0'), {
        table: name,
        save_configuration: true,
      })
      expect(first).toMatchObject({ load: { state: 'succeeded', long_rows: 1 }, texts: 2 + 5 })
      for (const { owner } of [org, other]) {
        await owner.call(setDataSourceState, { source_id: 'db_shop', enabled: true })
        await owner.call(setDataSourceExposure, { source_id: 'db_shop', exposed: true })
      }
      const ask = async (query: string, filters?: Record<string, string>) => {
        const asked = { source_id: 'db_shop', query, target: name, ...(filters && { filters }) }
        const { results } = await org.owner.call(queryDataSource, asked)
        const hits = results.filter(({ id }) => id === 'E1')
        return hits.map(({ metadata: { _score, _passage } }) => [
          Number(Number(_score).toFixed(2)),
          String(_passage).slice(0, 7),
        ])
      }
      expect(await ask('[0,0,1]')).toEqual([[1, '[0,0,1]']])
      expect(await ask('[0,1,0] paper')).toEqual([[1, '[0,1,0]']])
      expect(await ask('[0,0,1]', { in_stock: 'false' })).toEqual([])
      await expect(
        other.owner.call(queryDataSource, { source_id: 'db_shop', query: '[0,0,1]', target: name }),
      ).rejects.toEqual(refused('NO_SEMANTIC_SEARCH'))

      const { load, texts } = await reload(essays('1,0,0', '0,1,0', '0,1,1', '1,1,0', '-1,0,0'), {
        table: name,
        ...mode,
      })
      // The row itself, and one of its passages.
      expect([load.state, load.long_rows, texts]).toEqual(['succeeded', 1, 2])
      expect(await ask('[0,0,1]')).toEqual([[0.71, '[0,1,1]']])
      const undo = (undone: boolean) => org.owner.call(undoLoad, { load_id: load.id, undone })
      for (let times = 0; times < 2; times += 1) {
        await undo(true)
        expect(await ask('[0,0,1]')).toEqual([[1, '[0,0,1]']])
      }
      await undo(false)
      expect(await ask('[0,0,1]')).toEqual([[0.71, '[0,1,1]']])

      // A text that is short now has none any more, and what was changed by hand is not shown as it was.
      await rowsIn(org, 'shop', `update ${name} set description = 'gone' where sku = 'E1'`)
      expect(await ask('[0,0,1]')).toEqual([[0.71, 'undefin']])
      await reload(`${HEADER}E1,Essay,"[1,0,0] short",1,true\n`, { table: name, ...mode })
      expect(await ask('[0,0,1]')).toEqual([[0, 'undefin']])
    },
  )

  test('passages that rows are added to keep their two indexes, and a load without any keeps none', async () => {
    const name = table()
    await loadFile(system, org.owner.call, 'shop', CSV, { ...PLAN, table: name })
    const indexes = () =>
      rowsIn(
        org,
        'shop',
        `select from pg_indexes where schemaname = 'svc_passages' and tablename = '${name}' and indexname like 'lod_%'`,
      )
    for (const vector of ['0,1,0', '0,0,1', '1,1,0']) {
      const { load } = await reload(essays('1,0,0', vector, '0,1,1', '1,0,1', '-1,0,0'), {
        table: name,
        upsert: true,
      })
      expect([load.state, load.long_rows, (await indexes()).length]).toEqual(['succeeded', 1, 2])
    }

    // Longer than is read at once, and nothing to divide.
    const blanks = `[1,0,0]${' '.repeat(5_000)}.`
    const { id } = await startFile(org.owner.call, 'shop', `${HEADER}E1,Essay,"${blanks}",1,true\n`, {
      ...PLAN,
      table: name,
      upsert: true,
    })
    await takeUntil(system, id, 'finishing')
    // Killed before anybody noted that it is done.
    await system.db.update(loads).set({ phase: 'indexing' }).where(eq(loads.id, id))
    await takeLoadSteps(system)
    expect(await org.owner.call(showLoad, { load_id: id })).toMatchObject({
      state: 'succeeded',
      long_rows: 0,
    })
  })

  test('by rows without an id keeps the vectors of texts that have moved', async () => {
    const name = table()
    const plan = { table: name, id_column: undefined, title_column: undefined, embed_columns: ['text'] }
    await reload('text\n"[1,0,0] a"\n"[0,1,0] b"\n', plan)
    const { load, texts } = await reload('text\n"[0,0,1] new"\n"[1,0,0] a"\n"[0,1,0] b"\n', {
      ...plan,
      replace: true,
    })
    expect([load.state, texts, load.changes]).toEqual(['succeeded', 1, { added: 1, changed: 2, gone: 0 }])
    expect(await rowsIn(org, 'shop', `select embedding::text as v from ${name} order by row_number`)).toEqual(
      [{ v: '[0,0,1]' }, { v: '[1,0,0]' }, { v: '[0,1,0]' }],
    )
  })

  test('keeps the vectors of JSON, which the table writes in another way than the file', async () => {
    const name = table()
    const file = '{"id":"a","said":[{"v":"[1,0,0]","a":1}]}\n'
    const plan = { table: name, id_column: 'id', title_column: 'id', embed_columns: ['said'] }
    const again = async (mode: object) => {
      const { counting, texts } = countTexts()
      const { id } = await startFile(org.owner.call, 'shop', file, { ...PLAN, ...plan, ...mode }, 'ndjson')
      while (await takeLoadStep(counting, never));
      const { state } = await org.owner.call(showLoad, { load_id: id })
      return [state, texts()]
    }
    expect(await again({})).toEqual(['succeeded', 1])
    const types = await rowsIn(org, 'shop', `select pg_typeof(said)::text as type from ${name}`)
    expect(types).toEqual([{ type: 'jsonb' }])
    expect(await again({ replace: true })).toEqual(['succeeded', 0])
    expect(await again({ upsert: true })).toEqual(['succeeded', 0])
  })

  test('what is appended can be undone, and a replaced table that was not there is new', async () => {
    const name = table()
    const made = await reload(CSV, { table: name, replace: true })
    expect(made.load).toMatchObject({ state: 'succeeded', undo_until: null, changes: null })
    const before = await contentOf(org, name)
    const { load } = await reload(`${HEADER}L1,Lamp,"[1,1,0] glows",12,true\n`, { table: name, append: true })
    // As another load leaves it that has finished in the same moment.
    const mark = stagingName('lod_other_finished')
    await rowsIn(org, 'shop', `create table ${mark} ()`)
    await rowsIn(org, 'shop', `comment on table ${mark} is '99999999999.5 ${name}'`)
    await expect(org.owner.call(undoLoad, { load_id: load.id })).rejects.toEqual(refused('CONFLICT'))
    await rowsIn(org, 'shop', `drop table ${mark}`)
    await org.owner.call(undoLoad, { load_id: load.id })
    expect(await contentOf(org, name)).toEqual(before)
  })

  test('an undo by rows keeps what refers to them, and numbers that the database gives', async () => {
    const name = table()
    await loadFile(system, org.owner.call, 'shop', CSV, { ...PLAN, table: name })
    await rowsIn(org, 'shop', `alter table ${name} add number int generated always as identity`)
    await rowsIn(
      org,
      'shop',
      `create table ${name}_orders (sku text references ${name} (sku) on delete cascade)`,
    )
    await rowsIn(org, 'shop', `insert into ${name}_orders select sku from ${name}`)
    const all = () => rowsIn(org, 'shop', `select sku, number, description from ${name} order by sku`)
    const before = await all()
    const { load } = await reload(NEXT, { table: name, upsert: true })
    const after = await all()
    expect(after).not.toEqual(before)
    await org.owner.call(undoLoad, { load_id: load.id })
    expect(await all()).toEqual(before)
    await org.owner.call(undoLoad, { load_id: load.id, undone: false })
    expect(await all()).toEqual(after)
    const orders = await rowsIn(org, 'shop', `select sku from ${name}_orders order by sku`)
    expect(orders).toEqual(before.map(({ sku }) => ({ sku })))
  })

  test('an undo that does not fit the search configuration is refused, with what is missing', async () => {
    const name = table()
    await loadFile(system, org.owner.call, 'shop', 'sku,name,description\nT1,Tent,"[1,0,0] light"\n', {
      ...PLAN,
      table: name,
    })
    const { load } = await reload(NEXT, { table: name, replace: true, save_configuration: true })
    expect(load).toMatchObject({ state: 'succeeded', configuration_saved: true })
    const after = await contentOf(org, name)
    await expect(org.owner.call(undoLoad, { load_id: load.id })).rejects.toMatchObject({
      code: 'CONFLICT',
      problems: expect.arrayContaining(['the search configuration names column price']),
    })
    expect(await contentOf(org, name)).toEqual(after)
  })

  test('stays as it is where something would be lost, and says what', async () => {
    const name = table()
    await loadFile(system, org.owner.call, 'shop', CSV, { ...PLAN, table: name, save_configuration: true })
    const problemsOf = async (file: string, plan: object) =>
      startFile(org.owner.call, 'shop', file, { ...PLAN, table: name, ...plan }).then(
        () => [],
        (error: { problems?: readonly string[] }) => error.problems,
      )
    expect(await problemsOf('sku,name,description\nT1,a,b\n', { replace: true })).toEqual([
      'the search configuration names column price',
      'the search configuration names column in_stock',
    ])
    expect(await problemsOf(NEXT, { upsert: true, embed_columns: ['name'] })).toEqual([
      'the rows of the table are embedded from other columns: ["description"]',
    ])
    expect(await problemsOf(NEXT, { upsert: true, replace: true, delete_missing: true })).toEqual([
      'replace: only one of append, upsert and replace',
    ])
    expect(await problemsOf(NEXT, { delete_missing: true })).toEqual(['delete_missing: only with upsert'])
    await rowsIn(org, 'shop', `create view ${name}_seen as select sku from ${name}`)
    expect(await problemsOf(NEXT, { replace: true })).toEqual([
      'a view, a trigger, a policy or another table depends on it; change its rows by their id instead',
    ])
    const own = table()
    await rowsIn(org, 'shop', `create table ${own} (sku text primary key, embedding vector(3))`)
    expect(await problemsOf(NEXT, { table: own, replace: true })).toEqual([
      'the table was not made by a load',
    ])
  })
})

describe('who may load', () => {
  test('developers and above, in their own organization', async () => {
    const viewer = await makeMember(system, org, 'viewer')
    await expect(viewer.call(createLoad, announced('shop', CSV))).rejects.toEqual(refused('FORBIDDEN'))
    const load = await uploadFile(developer.call, 'shop', `${CSV}\n`)
    const load_id = load.id
    for (const person of [other.owner, viewer]) {
      const code = person === viewer ? 'FORBIDDEN' : 'NOT_FOUND'
      await expect(person.call(showLoad, { load_id })).rejects.toEqual(refused(code))
      await expect(person.call(previewLoad, { load_id })).rejects.toEqual(refused(code))
      await expect(person.call(startLoad, { load_id, ...PLAN })).rejects.toEqual(refused(code))
      await expect(person.call(cancelLoad, { load_id })).rejects.toEqual(refused(code))
      const part = { load_id, offset: 0, body: new Uint8Array(1) }
      await expect(person.call(uploadLoadPart, part)).rejects.toEqual(refused(code))
    }
    expect((await other.owner.call(listLoads, { name: 'shop' })).loads).toEqual([])
    expect((await org.owner.call(listLoads, { name: 'shop' })).loads[0]).toMatchObject({ id: load_id })
    await developer.call(cancelLoad, { load_id })
  })

  test('scoped tokens may not', async () => {
    const token = await makeApiToken(system, org, org.owner, { scopes: ['data:read'] })
    await expect(token.call(createLoad, announced('shop', CSV))).rejects.toEqual(refused('FORBIDDEN'))
    await expect(token.call(createEmbeddings, { model: 'toy-3', input: 'x' })).rejects.toEqual(
      refused('FORBIDDEN'),
    )
  })

  test.each<[string, (leaving: Person, token: { id: string }) => Promise<unknown>]>([
    [
      'was lowered',
      ({ userId }) => org.owner.call(changeMemberRole, { org_id: org.id, user_id: userId, role: 'viewer' }),
    ],
    ['was removed', ({ userId }) => org.owner.call(removeMember, { org_id: org.id, user_id: userId })],
    ['has revoked the token', (leaving, { id }) => leaving.call(revokeApiToken, { token_id: id })],
    [
      'had a token that expired',
      (_, { id }) =>
        system.db
          .update(apiTokens)
          .set({ expiresAt: system.clock.now() })
          .where(and(eq(apiTokens.orgId, org.id), eq(apiTokens.id, id))),
    ],
  ])('and whoever %s embeds nothing any more, and makes no table', async (_, end) => {
    const leaving = await makeMember(system, org, 'developer')
    const token = await makeApiToken(system, org, leaving)
    const name = table()
    const load = await startFile(token.call, 'shop', CSV, { ...PLAN, table: name })
    await end(leaving, token)
    await takeLoadSteps(system)
    const ended = await org.owner.call(showLoad, { load_id: load.id })
    expect(ended).toMatchObject({ state: 'failed', rows: 0, embedded: 0 })
    expect(ended.failure).toMatch(/may no longer/)
    expect((await tablesOf(org)).map((found) => found.name)).not.toContain(`public.${name}`)
  })
})

// Our own accounts need no such validation.
test.runIf(inject('auth') === 'hosted')(
  'with hosted auth whoever was not validated for a day embeds nothing any more',
  async () => {
    const load = await startFile(developer.call, 'shop', `${CSV}\n\n\n`, { ...PLAN, table: table() })
    system.clock.advance(VALIDATION_CURRENT_SECONDS + 60)
    await takeLoadSteps(system)
    const ended = await org.owner.call(showLoad, { load_id: load.id })
    expect(ended).toMatchObject({ state: 'failed', embedded: 0 })
    expect(ended.failure).toMatch(/may no longer/)
  },
)

describe('an upload', () => {
  test('goes on where it was interrupted, for the same file of the same person', async () => {
    const bytes = Buffer.from(`${CSV}X1,${'x'.repeat(2_000)},"[1,0,0]",1,true\n`)
    const file = announced('shop', bytes)
    const { id: load_id } = await developer.call(createLoad, file)
    const part = (from: number, to: number) => new Uint8Array(bytes.subarray(from, to))
    await developer.call(uploadLoadPart, { load_id, offset: 0, body: part(0, 1_024) })
    expect(await developer.call(createLoad, file)).toMatchObject({
      id: load_id,
      received: 1_024,
      state: 'uploading',
    })
    expect((await org.owner.call(createLoad, file)).id).not.toBe(load_id)
    for (const offset of [0, 1_025]) {
      const wrong = developer.call(uploadLoadPart, { load_id, offset, body: part(offset, offset + 5) })
      await expect(wrong).rejects.toMatchObject({ code: 'CONFLICT', hint: 'Go on with offset=1024.' })
    }
    await expect(developer.call(startLoad, { load_id, ...PLAN })).rejects.toEqual(refused('CONFLICT'))
    const tooMuch = { load_id, offset: 1_024, body: new Uint8Array(bytes.length) }
    await expect(developer.call(uploadLoadPart, tooMuch)).rejects.toEqual(refused('CONFLICT'))
    await developer.call(uploadLoadPart, { load_id, offset: 1_024, body: part(1_024, bytes.length) })
    const started = await developer.call(startLoad, { load_id, ...PLAN, table: table() })
    // A client that was killed starts it again, and finds it started.
    expect(await developer.call(startLoad, { load_id, ...PLAN, table: started.table! })).toMatchObject({
      id: load_id,
      state: 'running',
    })
    expect(await developer.call(createLoad, file)).toMatchObject({ id: load_id, state: 'running' })
    await expect(developer.call(startLoad, { load_id, ...PLAN, table: 'other' })).rejects.toEqual(
      refused('CONFLICT'),
    )
    await takeLoadSteps(system)
    expect(await developer.call(showLoad, { load_id })).toMatchObject({ state: 'succeeded', rows: 4 })
  })

  test('in many parts is read in their order, and every row is there', async () => {
    const rows = Array.from({ length: 600 }, (_, at) => `p${at},Part ${at},"[1,0,0]",${at},true`)
    const bytes = Buffer.from(`sku,name,description,price,in_stock\n${rows.join('\n')}\n`)
    const { id: load_id } = await developer.call(createLoad, announced('shop', bytes))
    for (let offset = 0; offset < bytes.length; offset += LOAD_PART_MIN_BYTES) {
      const body = new Uint8Array(bytes.subarray(offset, offset + LOAD_PART_MIN_BYTES))
      await developer.call(uploadLoadPart, { load_id, offset, body })
    }
    const name = table()
    await developer.call(startLoad, { load_id, ...PLAN, table: name })
    await takeLoadSteps(system)
    expect(await developer.call(showLoad, { load_id })).toMatchObject({
      state: 'succeeded',
      rows: 600,
      problems: [],
    })
    const found = await rowsIn(org, 'shop', `select sku from ${name}`)
    expect(found.map(({ sku }) => String(sku)).toSorted()).toEqual(
      rows.map((row) => row.split(',')[0]!).toSorted(),
    )
  })

  test('the same part from two clients at once is stored once', async () => {
    const bytes = Buffer.from(CSV.repeat(50))
    const { id: load_id } = await developer.call(createLoad, announced('shop', bytes))
    const upload = () => developer.call(uploadLoadPart, { load_id, offset: 0, body: new Uint8Array(bytes) })
    const outcomes = await Promise.allSettled([upload(), upload(), upload()])
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await developer.call(showLoad, { load_id })).toMatchObject({ received: bytes.length })
    await developer.call(cancelLoad, { load_id })
  })

  /** The lease of a part ran out while its database was slow, and another attempt has it. */
  async function overtaken(offset: number, isReachable: boolean): Promise<unknown> {
    const bytes = Buffer.from(`${CSV.repeat(20)}${unique('overtaken')}\n`)
    const { id: load_id } = await developer.call(createLoad, announced('shop', bytes))
    const upload = (from: number, to?: number) => ({
      load_id,
      offset: from,
      body: new Uint8Array(bytes.subarray(from, to)),
    })
    if (offset > 0) await developer.call(uploadLoadPart, upload(0, offset))
    const held = and(eq(loads.orgId, org.id), eq(loads.id, load_id))
    const { gateway } = system.system
    const managed = {
      ...gateway!.managed,
      async address() {
        const leaseUntil = sql`now() + interval '1 hour'`
        await system.db.update(loads).set({ leaseToken: 'another', leaseUntil }).where(held)
        if (!isReachable) throw Object.assign(new Error('gone'), { code: 'ECONNRESET' })
        return gateway!.managed.address()
      },
    }
    const [row] = await system.db.select().from(loads).where(held)
    const principal = { kind: 'user', orgId: org.id, userId: row!.createdBy, role: 'developer' } as never
    const refusal = await uploadPart({ ...gateway!, managed })(principal, upload(offset)).then(
      () => undefined,
      (error: unknown) => error,
    )
    const [after] = await system.db.select().from(loads).where(held)
    expect(after).toMatchObject({ state: 'uploading', leaseToken: 'another', received: offset })
    await system.db.update(loads).set({ leaseToken: null, leaseUntil: null }).where(held)
    const stored = await developer.call(uploadLoadPart, upload(offset))
    expect(stored).toMatchObject({ received: bytes.length })
    await developer.call(cancelLoad, { load_id })
    await takeLoadSteps(system)
    return refusal
  }

  test('whose lease another attempt has taken is told to come again, and not that it was canceled', async () => {
    const comeAgain = { code: 'RATE_LIMITED', retryAfterSeconds: 2 }
    expect(await overtaken(0, true)).toMatchObject(comeAgain)
    expect(await overtaken(LOAD_PART_MIN_BYTES, true)).toMatchObject(comeAgain)
    expect(await overtaken(LOAD_PART_MIN_BYTES, false)).toMatchObject({ code: 'TIMEOUT' })
  })

  test('that is abandoned for a day is deleted, and so is what was canceled', async () => {
    const { id: load_id } = await developer.call(createLoad, announced('shop', 'a\n1\n'))
    const tiny = developer.call(uploadLoadPart, { load_id, offset: 0, body: new Uint8Array([97]) })
    await expect(tiny).rejects.toEqual(refused('INVALID_REQUEST'))
    await takeLoadSteps(system)
    expect(await developer.call(showLoad, { load_id })).toMatchObject({ state: 'uploading' })
    system.clock.advance(LOAD_GIVE_UP_SECONDS + 60)
    await takeLoadSteps(system)
    expect(await developer.call(showLoad, { load_id })).toMatchObject({ state: 'canceled' })
    expect(await stagedOf(org, load_id)).toEqual([])
  })

  test('has a limit for each organization', async () => {
    const crowded = await makeOrganization(system)
    await crowded.owner.call(createDatabase, { name: 'shop' })
    const colleague = await makeMember(system, crowded, 'developer')
    const begin = (person: Pick<Person, 'call'>, file: string) =>
      person.call(createLoad, announced('shop', file))
    for (let at = 0; at < LOADS_UNFINISHED_PER_PERSON; at++) await begin(crowded.owner, `a${at}`)
    // And for each person, who leaves places to the others.
    await expect(begin(crowded.owner, 'more')).rejects.toMatchObject({
      message: `A person has at most ${LOADS_UNFINISHED_PER_PERSON} unfinished loads`,
    })
    for (let at = LOADS_UNFINISHED_PER_PERSON; at < LOADS_UNFINISHED_MAX; at++)
      await begin(colleague, `a${at}`)
    await expect(begin(colleague, 'more')).rejects.toMatchObject({
      message: `An organization has at most ${LOADS_UNFINISHED_MAX} unfinished loads`,
    })
    const first = (await crowded.owner.call(listLoads, { name: 'shop' })).loads.at(-1)
    await crowded.owner.call(cancelLoad, { load_id: first!.id })
    await crowded.owner.call(createLoad, announced('shop', 'more'))
    await crowded.owner.call(removeDatabase, { name: 'shop', confirm: 'shop' })
    expect(await system.db.select().from(loads).where(eq(loads.orgId, crowded.id))).toEqual([])
  })
})

test('files that are refused keep nobody from loading', async () => {
  const crowded = await makeOrganization(system)
  const { call } = crowded.owner
  await call(createDatabase, { name: 'shop' })
  await loadFile(system, call, 'shop', CSV, { ...PLAN, table: 'goods' })
  const states = async () => (await call(listLoads, { name: 'shop' })).loads.map(({ state }) => state)
  for (let at = 0; at < LOADS_UNFINISHED_MAX; at++) {
    // A header that cannot be one ends the load; a table that is there leaves it to other choices, until somebody needs its place.
    await expect(startFile(call, 'shop', `,,\nbad,${at},\n`, PLAN)).rejects.toEqual(
      refused('INVALID_REQUEST'),
    )
    await expect(
      startFile(call, 'shop', `${CSV}X${at},a,b,1,true\n`, { ...PLAN, table: 'goods' }),
    ).rejects.toEqual(refused('CONFLICT'))
  }
  expect((await states()).filter((state) => state === 'failed')).toHaveLength(LOADS_UNFINISHED_MAX)
  expect((await states()).filter((state) => state === 'uploading')).toHaveLength(LOADS_UNFINISHED_PER_PERSON)
  const { id } = await startFile(call, 'shop', `${CSV}X0,a,b,1,true\n`, { ...PLAN, table: 'others' })
  await takeLoadSteps(system)
  expect((await call(showLoad, { load_id: id })).state).toBe('succeeded')
  await system.db
    .update(loads)
    .set({ state: 'canceled' })
    .where(and(eq(loads.orgId, crowded.id), eq(loads.state, 'uploading')))
  await takeLoadSteps(system)
  expect((await rowsIn(crowded, 'shop', `select from pg_tables where schemaname = 'svc_loads'`)).length).toBe(
    0,
  )
})

describe('a load that is interrupted', () => {
  test('whose end is repeated after everything was cleaned up touches nothing', async () => {
    const name = table()
    const rows = Array.from({ length: 100 }, (_, at) => `r${at},Row ${at},"[1,${at},0]",${at},true`)
    const file = `sku,name,description,price,in_stock\n${rows.join('\n')}\n`
    const load = await startFile(org.owner.call, 'shop', file, { ...PLAN, table: name })
    const held = and(eq(loads.orgId, org.id), eq(loads.id, load.id))
    await takeLoadSteps(system)
    await system.db.update(loads).set({ state: 'running', phase: 'finishing', isStaged: true }).where(held)
    await takeLoadSteps(system)
    // The mark of the first end was deleted with the rest: a second one finds nothing, and touches nothing.
    expect(await org.owner.call(showLoad, { load_id: load.id })).toMatchObject({ state: 'failed' })
    const found = await rowsIn(org, 'shop', `select sku from ${name}`)
    expect(found.map(({ sku }) => String(sku)).toSorted()).toEqual(
      rows.map((row) => row.split(',')[0]!).toSorted(),
    )
  })

  test('after its table is in its place has succeeded, whoever is gone', async () => {
    const leaving = await makeMember(system, org, 'developer')
    const name = table()
    const load = await startFile(leaving.call, 'shop', CSV, {
      ...PLAN,
      table: name,
      save_configuration: true,
    })
    const held = and(eq(loads.orgId, org.id), eq(loads.id, load.id))
    await takeUntil(system, load.id, 'finishing')
    // Killed in between: the database has done it, and nobody has noted it.
    await takeLoadStep(withoutAnswers(system), never)
    expect(await rowsIn(org, 'shop', `select sku from ${name}`)).toHaveLength(3)
    await system.db.update(loads).set({ waitsUntil: null }).where(held)
    await org.owner.call(removeMember, { org_id: org.id, user_id: leaving.userId })
    await takeLoadSteps(system)
    const ended = await org.owner.call(showLoad, { load_id: load.id })
    expect(ended).toMatchObject({ state: 'succeeded', rows: 3, configuration_saved: false })
    expect(ended.failure).toMatch(/The table was loaded, but/)
  })

  test('after its table is in its place waits a day to save its configuration, and has succeeded then', async () => {
    const name = table()
    await org.owner.call(createDatabase, { name: 'unanswered' })
    const load = await startFile(org.owner.call, 'unanswered', CSV, {
      ...PLAN,
      table: name,
      save_configuration: true,
    })
    await takeUntil(system, load.id, 'finishing')
    const away = withoutAnswers(system)
    await takeLoadStep(away, never)
    expect(await org.owner.call(showLoad, { load_id: load.id })).toMatchObject({ state: 'running' })
    system.clock.advance(LOAD_GIVE_UP_SECONDS + 60)
    // Uploads of others that were abandoned meanwhile have their turns, too.
    while (await takeLoadStep(away, never));
    expect(await org.owner.call(showLoad, { load_id: load.id })).toMatchObject({
      state: 'succeeded',
      configuration_saved: false,
    })
    await takeLoadSteps(system)
  })

  test('whose client asks again when it has just succeeded is told so', async () => {
    const load = await startFile(org.owner.call, 'shop', CSV, { ...PLAN, table: table() })
    await takeLoadSteps(system)
    const again = { load_id: load.id, ...PLAN, table: load.table! }
    expect(await org.owner.call(startLoad, again)).toMatchObject({ id: load.id, state: 'succeeded' })
    await expect(org.owner.call(startLoad, { ...again, append: true })).rejects.toEqual(refused('CONFLICT'))
  })

  test('whose database is removed in the middle of a step ends with it', async () => {
    await org.owner.call(createDatabase, { name: 'fleeting' })
    const load = await startFile(org.owner.call, 'fleeting', CSV, { ...PLAN, table: table() })
    await takeUntil(system, load.id, 'embedding')
    const { gateway } = system.system
    const removing: LoadDeps = {
      ...gateway!,
      async embedTexts(...asked) {
        await org.owner.call(removeDatabase, { name: 'fleeting', confirm: 'fleeting' })
        return gateway!.embedTexts(...asked)
      },
    }
    expect(await takeLoadStep(removing, never)).toBe(true)
    await expect(org.owner.call(showLoad, { load_id: load.id })).rejects.toEqual(refused('NOT_FOUND'))
    await takeLoadSteps(system)
  })

  test('of which a part comes after it was cleaned up stages nothing more', async () => {
    const { id: load_id } = await uploadFile(developer.call, 'shop', `${CSV}late\n`)
    const held = and(eq(loads.orgId, org.id), eq(loads.id, load_id))
    await system.db.update(loads).set({ received: 0 }).where(held)
    // The database answers only after somebody has canceled the load and its staging was removed.
    const { gateway } = system.system
    const managed = {
      ...gateway!.managed,
      async address() {
        await developer.call(cancelLoad, { load_id })
        await system.db.update(loads).set({ leaseUntil: null }).where(held)
        await takeLoadSteps(system)
        return gateway!.managed.address()
      },
    }
    const body = new Uint8Array(Buffer.from(`${CSV}late\n`))
    const [row] = await system.db.select().from(loads).where(held)
    const principal = { kind: 'user', orgId: org.id, userId: row!.createdBy, role: 'developer' } as never
    const late = uploadPart({ ...gateway!, managed })(principal, { load_id, offset: 0, body })
    await expect(late).rejects.toEqual(refused('CONFLICT'))
    // Whoever made something now would have to be alive to say so.
    expect(await stagedOf(org, load_id)).toEqual([])
  })

  test('stages nothing by a statement that arrives after its lease', async () => {
    const id = makeId('lod', system.clock.now().getTime())
    const create = (seconds: number) => inShop((queries) => createStaging(queries, id, async () => seconds))
    await expect(create(0)).rejects.toEqual(refused('SVC02'))
    expect(await stagedOf(org, id)).toEqual([])
    await create(30)
    expect(await stagedOf(org, id)).toHaveLength(2)
    const store = (seconds: number) =>
      inShop((queries) => storePart(queries, id, 0, Buffer.from(String(seconds)), async () => seconds))
    expect([await store(30), await store(0), await store(-1)]).toEqual([true, false, false])
    expect(String(await inShop((queries) => readContent(queries, id, 0, 100)))).toBe('30')
    const replace = (seconds: number) =>
      inShop((queries) =>
        changeStaged(
          queries,
          `update ${contentTable(id)} c set body = decode($1, 'hex') from live where c.at = 0`,
          [Buffer.from(`again ${seconds}`).toString('hex')],
          async () => seconds,
        ),
      )
    expect([await replace(30), await replace(0), await replace(-1)]).toEqual([true, false, false])
    expect(String(await inShop((queries) => readContent(queries, id, 0, 100)))).toBe('again 30')
    await inShop((queries) => removeStaging(queries, id))
    expect(await stagedOf(org, id)).toEqual([])
  })

  test('a canceled one makes no table and stages nothing', async () => {
    const name = table()
    const load = await startFile(org.owner.call, 'shop', CSV, { ...PLAN, table: name })
    await org.owner.call(cancelLoad, { load_id: load.id })
    await takeLoadSteps(system)
    expect(await org.owner.call(showLoad, { load_id: load.id })).toMatchObject({ state: 'canceled' })
    const names = (await tablesOf(org)).map((found) => String(found.name))
    // What others have replaced is kept for its time.
    expect(names.filter((found) => found.includes(name))).toEqual([])
    expect(await stagedOf(org, load.id)).toEqual([])
  })

  test('waits for a model that is away, and says so', async () => {
    const name = table()
    const load = await startFile(org.owner.call, 'shop', CSV, { ...PLAN, table: name, model: 'toy-broken' })
    await takeLoadSteps(system)
    expect(await org.owner.call(showLoad, { load_id: load.id })).toMatchObject({
      state: 'running',
      phase: 'embedding',
      waits_for: 'The embedding model cannot be used now.',
    })
    system.clock.advance(LOAD_GIVE_UP_SECONDS + 60)
    await takeLoadSteps(system)
    expect(await org.owner.call(showLoad, { load_id: load.id })).toMatchObject({ state: 'failed' })
  })

  test('by its model counts the tokens of what was embedded until then, and no others', async () => {
    const poor = await makeOrganization(system)
    await poor.owner.call(createDatabase, { name: 'shop' })
    const rows = Array.from({ length: 32 }, (_, at) => `r${at},x,${at === 16 ? 'fail' : 'one two three'}`)
    const file = `sku,name,description\n${rows.join('\n')}\n`
    const load = await startFile(poor.owner.call, 'shop', file, PLAN)
    await takeUntil(system, load.id, 'embedding')
    let left = 31
    const others = Promise.withResolvers<void>()
    const embedTexts = createTextEmbedding({
      async embed(_owner, _model, text) {
        if (text !== 'fail') {
          if (--left === 0) others.resolve()
          return [1, 0, 0]
        }
        await others.promise
        throw new ServiceError('EMBEDDING_UNAVAILABLE')
      },
    })
    await takeLoadStep({ ...system.system.gateway!, embedTexts }, never)
    const held = eq(embeddingCounts.orgId, poor.id)
    const [counted] = await system.db.select().from(embeddingCounts).where(held)
    expect(counted!.tokens).toBe(31 * 3)
    await takeLoadSteps(system)
  })

  test('is tried again after a wait that doubles, up to ten minutes', async () => {
    const load = await startFile(org.owner.call, 'shop', CSV, {
      ...PLAN,
      model: 'toy-broken',
      table: table(),
    })
    const held = and(eq(loads.orgId, org.id), eq(loads.id, load.id))
    const waits: number[] = []
    while (waits.length < 9) {
      await takeLoadSteps(system)
      const [row] = await system.db.select().from(loads).where(held)
      const seconds = Math.round((row!.waitsUntil!.getTime() - system.clock.now().getTime()) / 1000)
      waits.push(seconds)
      system.clock.advance(seconds)
    }
    expect(waits).toEqual([15, 15, 30, 60, 120, 240, 480, 600, 600])
    // One warning with its cause, however often it is tried.
    const lines = system.logLines.filter((line) => line.includes(load.id) && line.includes('"level":"warn"'))
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      {
        event: 'a step of a load failed',
        org: org.id,
        phase: 'embedding',
        waits_for: 'model',
        error: { code: 'EMBEDDING_UNAVAILABLE' },
      },
    ])
    await org.owner.call(cancelLoad, { load_id: load.id })
    await takeLoadSteps(system)
  })

  test('for days of waiting for tokens does not end at the first trouble of another kind', async () => {
    const load = await startFile(org.owner.call, 'shop', CSV, { ...PLAN, table: table() })
    const { gateway } = system.system
    const show = () => org.owner.call(showLoad, { load_id: load.id })
    const poor = { ...gateway!, embeddingTokensPerDay: 0 }
    for (let day = 0; day < 3; day++) {
      while (await takeLoadStep(poor, never));
      expect(await show()).toMatchObject({ state: 'running', waits_for: expect.stringContaining('tokens') })
      system.clock.advance(LOAD_GIVE_UP_SECONDS)
    }
    const embedTexts = async () => {
      throw new ServiceError('EMBEDDING_UNAVAILABLE')
    }
    while (await takeLoadStep({ ...gateway!, embedTexts }, never));
    expect(await show()).toMatchObject({ state: 'running', waits_for: expect.stringContaining('model') })
    system.clock.advance(60)
    await takeLoadSteps(system)
    expect(await show()).toMatchObject({ state: 'succeeded' })
  })
})

describe('loads of several organizations', () => {
  test('take turns: a small file does not wait for a large one', async () => {
    const [large, small] = [await makeOrganization(system), await makeOrganization(system)]
    for (const { owner } of [large, small]) await owner.call(createDatabase, { name: 'shop' })
    const rows = Array.from({ length: 400 }, (_, at) => `r${at},x,"[1,${at},0]"`)
    const file = `sku,name,description\n${rows.join('\n')}\n`
    const first = await startFile(large.owner.call, 'shop', file, PLAN)
    const second = await startFile(small.owner.call, 'shop', CSV, PLAN)
    const deps = stepPerTurn(system)
    const stateOf = async (of: Org, load_id: string) => (await of.owner.call(showLoad, { load_id })).state
    while ((await stateOf(small, second.id)) === 'running') expect(await takeLoadStep(deps, never)).toBe(true)
    expect(await stateOf(large, first.id)).toBe('running')
    await takeLoadSteps(system)
    expect(await stateOf(large, first.id)).toBe('succeeded')
  })

  test('are taken by loops of their own where a statement is long', async () => {
    const rows = Array.from({ length: 1_001 }, (_, at) => `r${at},x,"[1,${at},0]"`)
    const file = `sku,name,description\n${rows.join('\n')}\n`
    const load = await startFile(org.owner.call, 'shop', file, { ...PLAN, table: table() })
    const deps = system.system.gateway!
    const work: string[] = []
    const onWork = (found: string) => void work.push(found)
    expect(await takeLoadStep(deps, never, { work: 'long', onWork })).toBe(false)
    while (await takeLoadStep(deps, never, { work: 'short', onWork }));
    expect(work.slice(-2)).toEqual(['short', 'long'])
    expect(await org.owner.call(showLoad, { load_id: load.id })).toMatchObject({ phase: 'indexing' })
    // A file of a few rows is not kept waiting by it.
    const small = await startFile(org.owner.call, 'shop', CSV, { ...PLAN, table: table() })
    while (await takeLoadStep(deps, never, { work: 'short', onWork }));
    expect(await org.owner.call(showLoad, { load_id: small.id })).toMatchObject({ state: 'succeeded' })
    while (await takeLoadStep(deps, never, { work: 'long', onWork }));
    expect(await org.owner.call(showLoad, { load_id: load.id })).toMatchObject({ state: 'succeeded' })
    await takeLoadSteps(system)
  })

  test('do not have the digest of a large file among their short steps', async () => {
    const load = await startFile(org.owner.call, 'shop', CSV, { ...PLAN, table: table() })
    await takeLoadStep(stepPerTurn(system), never, { work: 'short' })
    const show = () => org.owner.call(showLoad, { load_id: load.id })
    expect(await show()).toMatchObject({ phase: 'reading', rows: 3, read_bytes: load.bytes })
    // As if many empty lines had been behind the rows.
    const [part, parts] = ['\n'.repeat(LOAD_PART_BYTES), 8]
    const bytes = load.bytes + parts * part.length
    const sha256 = announced('shop', CSV + part.repeat(parts)).sha256
    await inShop((queries) =>
      queries.query(
        `insert into ${contentTable(load.id)} select ${load.bytes} + n * ${part.length},
          convert_to(repeat(E'\\n', ${part.length}), 'UTF8') from generate_series(0, ${parts - 1}) n`,
      ),
    )
    const held = and(eq(loads.orgId, org.id), eq(loads.id, load.id))
    await system.db.update(loads).set({ bytes, readBytes: bytes, sha256 }).where(held)
    const deps = system.system.gateway!
    const work: string[] = []
    const onWork = (found: string) => void work.push(found)
    expect(await takeLoadStep(deps, never, { work: 'short', onWork })).toBe(false)
    expect(await takeLoadStep(deps, never, { work: 'long', onWork })).toBe(true)
    expect(await show()).toMatchObject({ phase: 'checking' })
    expect(work).toEqual(['long', 'short'])
    await takeLoadSteps(system)
    expect(await show()).toMatchObject({ state: 'succeeded', rows: 3 })
  })

  test('find a place in a file of many small parts without a look at those before it', async () => {
    const id = makeId('lod', system.clock.now().getTime())
    const [parts, partBytes] = [8 * 1024, LOAD_PART_MIN_BYTES]
    let visited = 0
    const explaining = (queries: Queries): Queries => ({
      async query<Row extends object>(statement: string, parameters?: readonly (string | null)[]) {
        const explain = `explain (analyze, costs off, timing off) ${statement}`
        const told = await queries.query<Record<string, string>>(explain, parameters)
        const lines = told.flatMap((line) => Object.values(line)).join('\n')
        const counts = lines.matchAll(/actual rows=(\d+)|Rows Removed by Filter: (\d+)/g)
        for (const [, found, removed] of counts) visited += Number(found ?? removed)
        return queries.query<Row>(statement, parameters)
      },
    })
    await inShop(async (queries) => {
      await createStaging(queries, id, async () => 30)
      await queries.query(
        `insert into ${contentTable(id)} select n * ${partBytes}, convert_to(repeat('x', ${partBytes}), 'UTF8')
          from generate_series(0, ${parts - 1}) n`,
      )
      await queries.query(`analyze ${contentTable(id)}`)
      const content = await readContent(
        explaining(queries),
        id,
        (parts - 1_024) * partBytes,
        1_024 * partBytes,
      )
      expect(content).toHaveLength(1_024 * partBytes)
      await removeStaging(queries, id)
    })
    expect(visited).toBeGreaterThan(1_000)
    expect(visited).toBeLessThan(parts / 2)
  })

  test('run until they are done', async () => {
    const load = await startFile(org.owner.call, 'shop', CSV, { ...PLAN, table: table() })
    const running = startLoads(system.system.gateway!)
    try {
      const state = async () => (await org.owner.call(showLoad, { load_id: load.id })).state
      await expect.poll(state, { timeout: 20_000 }).toBe('succeeded')
    } finally {
      await running.stop()
    }
    await takeLoadSteps(system)
  })

  test('each has its own tokens of the day; one that has none left waits for the next', async () => {
    const poor = await makeOrganization(system)
    await poor.owner.call(createDatabase, { name: 'shop' })
    const day = new Date(Math.floor(system.clock.now().getTime() / 86_400_000) * 86_400_000)
    await system.db.insert(embeddingCounts).values({ orgId: poor.id, day, tokens: 20_000_000 })
    const load = await startFile(poor.owner.call, 'shop', CSV, PLAN)
    await takeLoadSteps(system)
    expect(await poor.owner.call(showLoad, { load_id: load.id })).toMatchObject({
      state: 'running',
      waits_for: expect.stringContaining('embedding tokens'),
      waits_until: expect.stringContaining(new Date(day.getTime() + 86_400_000).toISOString().slice(0, 16)),
    })
  })
})

describe('a preview', () => {
  test('shows columns and rows, and suggests what to choose', async () => {
    const { id: load_id } = await uploadFile(developer.call, 'shop', `${CSV}\n\n`)
    const preview = await developer.call(previewLoad, { load_id })
    expect(preview).toMatchObject({
      columns: [{ name: 'sku', header: 'sku' }, {}, {}, {}, {}],
      problems: [],
      suggestion: {
        table: 'file',
        id_column: 'sku',
        title_column: 'name',
        embed_columns: ['name', 'description'],
      },
    })
    expect(preview.rows).toHaveLength(3)
    await developer.call(cancelLoad, { load_id })
  })
})

describe('embeddings', () => {
  test('have the form of OpenAI, as numbers and as base64', async () => {
    const floats = await developer.call(createEmbeddings, {
      model: 'toy-3',
      input: ['[1,2,3]', '[0.5,0,0] x'],
    })
    expect(floats).toEqual({
      object: 'list',
      model: 'toy-3',
      data: [
        { object: 'embedding', index: 0, embedding: [1, 2, 3] },
        { object: 'embedding', index: 1, embedding: [0.5, 0, 0] },
      ],
      usage: { prompt_tokens: 3, total_tokens: 3 },
    })
    const { data } = await developer.call(createEmbeddings, {
      model: 'toy-3',
      input: '[1,2,3]',
      encoding_format: 'base64',
      dimensions: 3,
      user: 'somebody',
    })
    const bytes = Buffer.from(String(data[0]!.embedding), 'base64')
    expect([0, 4, 8].map((at) => bytes.readFloatLE(at))).toEqual([1, 2, 3])
  })

  test.each([
    ['no text', { model: 'toy-3', input: ' ' }],
    ['no texts', { model: 'toy-3', input: [] }],
    ['too many', { model: 'toy-3', input: Array.from({ length: 257 }, () => 'x') }],
    ['another number of dimensions', { model: 'toy-3', input: 'x', dimensions: 2 }],
    ['a model that is not there', { model: 'none', input: 'x' }],
    ['a model that is closed', { model: 'toy-8', input: 'x' }],
  ])('%s is refused', async (_, input) => {
    await expect(developer.call(createEmbeddings, input)).rejects.toEqual(refused('INVALID_REQUEST'))
  })

  test('tokens of another model are refused with what to do', async () => {
    const answer = await system.fetch('/api/ai/v1/embeddings', {
      method: 'POST',
      headers: { authorization: `Bearer ${developer.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'toy-3', input: [[1, 2, 3]] }),
    })
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('tokens are not taken')
  })

  test('viewers may not, and what failed is not counted', async () => {
    const viewer = await makeMember(system, org, 'viewer')
    await expect(viewer.call(createEmbeddings, { model: 'toy-3', input: 'x' })).rejects.toEqual(
      refused('FORBIDDEN'),
    )
    const tokens = async () =>
      (await system.db.select().from(embeddingCounts).where(eq(embeddingCounts.orgId, org.id)))[0]?.tokens
    const before = await tokens()
    const broken = developer.call(createEmbeddings, { model: 'toy-broken', input: 'x y z' })
    await expect(broken).rejects.toEqual(refused('EMBEDDING_UNAVAILABLE'))
    expect(await tokens()).toBe(before)
  })

  test('are counted per organization and day, exactly, however many ask at once', async () => {
    const [mine, theirs] = [await makeOrganization(system), await makeOrganization(system)]
    const { gateway } = system.system
    const limited = { ...gateway!, embeddingTokensPerDay: 10 }
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => takeTokens(limited, mine.id, 1)),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
    await takeTokens(limited, theirs.id, 10)
    await expect(takeTokens(limited, theirs.id, 1)).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      retryAfterSeconds: expect.any(Number),
    })
    system.clock.advance(86_400)
    await takeTokens(limited, mine.id, 10)
  })

  const PRINCIPAL: Omit<Principal, 'userId' | 'orgId'> = {
    kind: 'user',
    userName: '',
    userEmail: null,
    organization: null,
    role: 'developer',
    carriesAppRoles: true,
    scopes: null,
    audiences: ['api'],
    expiresAt: null,
    sources: null,
    entryPoint: 'api',
    address: '',
    requestId: 'embeddings',
  }

  /** A model that embeds what is not held, and holds `hold` until it is released. */
  async function withHeldModel() {
    const [mine, theirs] = [await makeOrganization(system), await makeOrganization(system)]
    const gateway = system.system.gateway!
    const released = Promise.withResolvers<void>()
    let asked = 0
    const models: EmbeddingModels = {
      ...gateway.models,
      tokensOf: () => 10,
      embed: async (_owner, _model, text, options) => {
        asked += 1
        if (text === 'fail') throw new ServiceError('EMBEDDING_UNAVAILABLE')
        if (text !== 'hold') return [1, 0, 0]
        const gaveUp = new Promise<never>((_, reject) =>
          options?.signal?.addEventListener('abort', () => reject(options.signal!.reason)),
        )
        await Promise.race([released.promise, gaveUp])
        return [1, 0, 0]
      },
    }
    const handle = embed({ ...gateway, models, embedTexts: createTextEmbedding(models) })
    const call = (made: Org, texts: readonly string[], signal?: AbortSignal) =>
      handle(
        { ...PRINCIPAL, userId: made.owner.userId, orgId: made.id, signal },
        { model: 'toy-3', input: [...texts], encoding_format: 'float' },
      )
    const tokens = async (made: Org) =>
      (await system.db.select().from(embeddingCounts).where(eq(embeddingCounts.orgId, made.id)))[0]?.tokens
    return { mine, theirs, call, tokens, release: released.resolve, asked: () => asked }
  }

  test('an organization that sends more calls at once than wait is refused, and no other one', async () => {
    const { mine, theirs, call, tokens, release } = await withHeldModel()
    const held = Array.from({ length: 256 }, () => 'hold')
    const calls = Array.from({ length: 400 }, () => call(mine, held).catch((error: unknown) => error))
    const refusals = calls.slice(12)
    for (const refusal of await Promise.all(refusals)) {
      expect(refusal).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) })
    }
    expect((await call(theirs, ['x'])).data).toHaveLength(1)
    release()
    const answered = (await Promise.all(calls.slice(0, 12))) as { data: unknown[] }[]
    expect(answered.map(({ data }) => data.length)).toEqual(Array.from({ length: 12 }, () => 256))
    // What was refused was never counted.
    expect(await tokens(mine)).toBe(12 * 256 * 10)
  })

  test('what was embedded until a call failed or was given up counts, and the rest does not', async () => {
    const { mine, theirs, call, tokens, asked } = await withHeldModel()
    const few = Array.from({ length: 24 }, () => 'x')
    const failing = call(mine, [...few, 'fail', ...few, ...few])
    await expect(failing).rejects.toMatchObject({ code: 'EMBEDDING_UNAVAILABLE' })
    const counted = (await tokens(mine))!
    expect(counted).toBeGreaterThanOrEqual(24 * 10)
    expect(counted).toBeLessThan(73 * 10)
    const end = new AbortController()
    const before = asked()
    const givenUp = call(
      theirs,
      [...few.slice(0, 16), ...Array.from({ length: 64 }, () => 'hold')],
      end.signal,
    )
    givenUp.catch(() => undefined)
    await expect.poll(() => asked() - before).toBe(32)
    end.abort(new Error('hung up'))
    await expect(givenUp).rejects.toThrow('hung up')
    // The sixteen that were there, and the sixteen that the model had begun.
    expect(await tokens(theirs)).toBe(32 * 10)
  })
})

test('a search configuration that somebody saves meanwhile is not lost', async () => {
  const name = table()
  await org.owner.call(createDatabase, { name: 'raced' })
  const load = await startFile(org.owner.call, 'raced', CSV, {
    ...PLAN,
    table: name,
    save_configuration: true,
  })
  await rowsIn(org, 'raced', `create table points (id text, title text, embedding vector(3))`)
  await org.owner.call(saveSearchConfiguration, {
    source_id: 'db_raced',
    connection_config: {
      embedding_configs: [
        { label: 'points', table: 'points', model: 'toy-3', dimensions: 3, content_columns: 'id,title' },
      ],
    },
  })
  await takeLoadSteps(system)
  const source = await org.owner.call(showDataSource, { source_id: 'db_raced' })
  expect(source.connection_config?.embedding_configs.map((entry) => entry.table)).toEqual(['points', name])
  expect(await org.owner.call(showLoad, { load_id: load.id })).toMatchObject({ configuration_saved: true })
})
