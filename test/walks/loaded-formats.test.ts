/** Tables loaded from files of every format: the same table of each, searched by meaning or by words alone. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase } from '../../src/contracts/databases.ts'
import {
  queryDataSource,
  setDataSourceExposure,
  setDataSourceState,
  showDataSource,
} from '../../src/contracts/data-sources.ts'
import type { LoadFormat } from '../../src/contracts/load-formats.ts'
import { previewLoad, showLoad, startLoad, undoLoad } from '../../src/contracts/loads.ts'
import { inDatabase, startWithDatabases, type SystemWithDatabases } from '../support/data-sources.ts'
import { loadFile, takeLoadSteps, uploadFile } from '../support/loads.ts'
import { makeParquet, makeXlsx } from '../support/table-files.ts'
import { makeOrganization, type Org } from '../support/make.ts'

let system: SystemWithDatabases
let [org, other]: Org[] = []
beforeAll(async () => {
  system = await startWithDatabases()
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  for (const { owner } of [org, other]) await owner.call(createDatabase, { name: 'shop' })
})
afterAll(() => system.stop())

test('a workbook without a column to embed is found by words and filters, and by nothing else', async () => {
  const { call } = org!.owner
  await call(createDatabase, { name: 'staff' })
  const day = (serial: number) => ({ xml: `<c s="1"><v>${serial}</v></c>` })
  const file = makeXlsx({
    Notes: [['text'], ['not this']],
    Staff: [
      ['number', 'name', 'about', 'since', 'rate', 'until', 'pay'],
      [7, 'Ann', 'repairs tents', day(46082), '12,5', '31.12.2026', { xml: '<c><f>E2*2</f><v>25</v></c>' }],
      [
        8,
        'Bo',
        'repairs stoves',
        day(46113),
        '1.200,25',
        '1.2.2027',
        { xml: '<c><f>E3*2</f><v>2400.5</v></c>' },
      ],
    ],
  })
  const { id } = await uploadFile(call, 'staff', file, 'xlsx')
  const first = await call(previewLoad, { load_id: id })
  expect(first).toMatchObject({ sheets: ['Notes', 'Staff'], sheet: 'Notes', columns: [{ header: 'text' }] })
  const preview = await call(previewLoad, { load_id: id, sheet: 'Staff' })
  expect(preview.columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
    'number number',
    'name text',
    'about text',
    'since date',
    'rate number_comma',
    'until date_dmy',
    'pay number',
  ])
  await expect(other!.owner.call(previewLoad, { load_id: id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const plan = { sheet: 'Staff', id_column: 'number', title_column: 'name', save_configuration: true }
  const types = { pay: 'text' } as const
  const load = await loadFile(system, call, 'staff', file, { ...plan, types }, 'xlsx')
  expect(load).toMatchObject({
    state: 'succeeded',
    configuration_saved: true,
    rows: 2,
    choices: { sheet: 'Staff', types, embed_columns: [] },
    configuration: {
      connection_config: { embedding_configs: [{ columns: [], hybrid: true }] },
      filter_schema: { since: 'date', rate: 'number', until: 'date' },
    },
  })
  const staff = { source_id: 'db_staff' }
  await call(setDataSourceState, { ...staff, enabled: true })
  await call(setDataSourceExposure, { ...staff, exposed: true })
  const ask = async (query: string, filters = {}) =>
    (await call(queryDataSource, { ...staff, query, filters })).results
  expect(await ask('who repairs tents?')).toMatchObject([
    { id: '7', title: 'Ann', metadata: { _mode: 'words', rate: 12.5, since: '2026-03-01', pay: '25' } },
    { id: '8' },
  ])
  expect(await ask('repairs', { rate: { gt: 100 } })).toMatchObject([{ id: '8' }])
  expect(await ask('repairs', { until: { lt: '2027-01-01' }, since: '2026-03-01' })).toMatchObject([
    { id: '7' },
  ])
  // By its meaning it would be found.
  expect(await ask('camping')).toEqual([])
  expect((await call(showDataSource, staff)).health.problems).toEqual([])
  await expect(other!.owner.call(queryDataSource, { ...staff, query: 'tents' })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })

  // The next week's file, by its id; what it was comes back.
  const next = makeXlsx({
    Staff: [
      ['number', 'name', 'about', 'since', 'rate', 'until', 'pay'],
      [7, 'Ann', 'repairs kayaks'],
    ],
  })
  const changed = await loadFile(system, call, 'staff', next, { ...plan, types, upsert: true }, 'xlsx')
  expect(changed).toMatchObject({ state: 'succeeded', changes: { added: 0, changed: 1, gone: 0 } })
  expect(await ask('kayaks')).toMatchObject([{ id: '7', metadata: { since: null } }])
  await call(undoLoad, { load_id: changed.id })
  expect(await ask('kayaks')).toEqual([])
  expect(await ask('tents')).toMatchObject([{ id: '7', metadata: { since: '2026-03-01' } }])

  // Another type than the table has: of rows that are changed a problem, of a replaced table a choice, but for what is filtered.
  const retyped = { ...plan, types: { ...types, since: 'text' as const }, upsert: true }
  const replacing = await uploadFile(call, 'staff', file, 'xlsx')
  await expect(call(startLoad, { load_id: replacing.id, ...retyped })).rejects.toMatchObject({
    code: 'CONFLICT',
    problems: ['column since of the table is a date'],
  })
  await expect(
    call(startLoad, { load_id: replacing.id, ...retyped, upsert: false, replace: true }),
  ).rejects.toMatchObject({
    code: 'CONFLICT',
    problems: ['the search configuration filters column since as a date'],
  })
  const priced = { ...plan, types: { pay: 'number' as const }, replace: true }
  expect(await loadFile(system, call, 'staff', file, priced, 'xlsx')).toMatchObject({ state: 'succeeded' })
  expect(await ask('tents')).toMatchObject([{ id: '7', metadata: { pay: 25 } }])
})

test('files of each format give the same table, and a broken one a sentence and nothing else', async () => {
  const { call } = org!.owner
  const rows = [
    { sku: 'T1', text: '[1,0,0] tent', tags: ['a', 'b'] },
    { sku: 'S1', text: '[0,1,0] stöve', tags: [] },
  ]
  const [csv, list] = ['sep=^\nsku^text\nT1^[1,0,0] tent\nS1^[0,1,0] stöve\n', JSON.stringify(rows, null, 1)]
  const files: [LoadFormat, string | Uint8Array][] = [
    ['csv', csv],
    ['csv', Buffer.from(`\uFEFF${csv}`, 'utf16le')],
    ['csv', Buffer.from(`\uFEFF${csv}`, 'utf16le').swap16()],
    ['json', list],
    ['ndjson', rows.map((row) => JSON.stringify(row)).join('\n')],
    ['xlsx', makeXlsx({ S: [['sku', 'text'], ...rows.map(({ sku, text }) => [sku, text])] })],
    [
      'parquet',
      makeParquet([
        { name: 'sku', data: rows.map(({ sku }) => sku), type: 'STRING' },
        { name: 'text', data: rows.map(({ text }) => text), type: 'STRING' },
      ]),
    ],
  ]
  for (const [at, [format, file]] of files.entries()) {
    const plan = { id_column: 'sku', embed_columns: ['text'], model: 'toy-3', table: `format_${at}` }
    const load = await loadFile(system, call, 'shop', file, plan, format)
    expect([format, load]).toMatchObject([format, { state: 'succeeded', rows: 2 }])
    const found = await inDatabase(org!, 'shop', (sql) =>
      sql.unsafe(`select sku, text, embedding::text as v from format_${at} order by sku`),
    )
    expect([format, ...found]).toEqual([
      format,
      { sku: 'S1', text: '[0,1,0] stöve', v: '[0,1,0]' },
      { sku: 'T1', text: '[1,0,0] tent', v: '[1,0,0]' },
    ])
  }
  const { id } = await uploadFile(call, 'shop', Buffer.from('PAR1 nothing of the kind PAR1'), 'parquet')
  await expect(call(startLoad, { load_id: id, embed_columns: ['text'] })).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    problems: [expect.stringMatching(/^It is broken/)],
  })
  await takeLoadSteps(system)
  expect(await call(showLoad, { load_id: id })).toMatchObject({
    state: 'failed',
    failure: expect.stringMatching(/^The file/),
  })
  const late = makeXlsx({
    S: [
      ['sku', 'n'],
      ['A', 1],
      [{ xml: '<c><f>NOW()</f></c>' }, 2],
      ['C', 'x'],
    ],
  })
  const refused = await loadFile(
    system,
    call,
    'shop',
    late,
    { table: 'late', types: { n: 'number' } },
    'xlsx',
  )
  expect(refused).toMatchObject({
    state: 'failed',
    problems: [
      'line 3: a formula has no value; open the file, and save it again',
      'line 4: column n is not a number',
    ],
  })
  const left = await inDatabase(org!, 'shop', (sql) =>
    sql.unsafe(
      `select tablename from pg_tables where tablename = 'late' or starts_with(tablename, '${refused.id}')`,
    ),
  )
  expect([...left]).toEqual([])
})
