/** From a file to an answer: a database, a file that is previewed and loaded into it, questions, rows; and one that is attached. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { and, eq, inArray, like } from '../../db/drizzle.ts'
import { dataSources, embeddingCounts, loads } from '../../db/schema.ts'
import type { Call } from '../../src/client/http-client.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import {
  attachDatabase,
  createDatabase,
  removeDatabase,
  rotateConnectionString,
  showConnectionString,
} from '../../src/contracts/databases.ts'
import {
  fetchDataSourceRow,
  listDataSources,
  listTables,
  queryDataSource,
  saveSearchConfiguration,
  setDataSourceExposure,
  setDataSourceState,
  showDataSource,
} from '../../src/contracts/data-sources.ts'
import { showDocuments, syncDocuments } from '../../src/contracts/documents.ts'
import { makeId } from '../../src/contracts/ids.ts'
import {
  DATABASES_MAX,
  LOAD_DAYS,
  LOAD_GIVE_UP_SECONDS,
  LOAD_PART_MIN_BYTES,
  LOAD_TABLE_BYTES,
  LOADS_UNFINISHED_PER_PERSON,
} from '../../src/contracts/limits.ts'
import { createEmbeddings } from '../../src/contracts/embeddings.ts'
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
import { changeMemberRole } from '../../src/contracts/members.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import { claimLoad, releaseLoad, renewLease, saveStep } from '../../src/cores/loads/claim-load.ts'
import { createDatabase as createManaged } from '../../src/cores/databases/create-database.ts'
import { takeTokens } from '../../src/cores/embeddings/index.ts'
import { embedFirst } from '../../src/cores/loads/embed-first.ts'
import { sweepLoads, takeLoadStep, type LoadDeps } from '../../src/cores/loads/index.ts'
import type { LoadRow } from '../../src/cores/loads/load-rows.ts'
import type { StepContext } from '../../src/cores/loads/step.ts'
import { rowsChangedAt } from '../../src/cores/search/eval-rows.ts'
import { versionOf } from '../../src/cores/search/table-search.ts'
import {
  atAddress,
  inDatabase,
  insertSource,
  startWithDatabases,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { announced, loadFile, never, startFile, takeLoadSteps, uploadFile } from '../support/loads.ts'
import { makeXlsx } from '../support/table-files.ts'
import { makeMember, makeOrganization, unique, type Org } from '../support/make.ts'

let system: SystemWithDatabases
let [org, other]: Org[] = []
beforeAll(async () => {
  system = await startWithDatabases({ ATTACH_ALLOWED: '127.0.0.1' })
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  for (const { owner } of [org, other]) await owner.call(createDatabase, { name: 'shop' })
})
afterAll(() => system.stop())

const CSV = `sku,name,description
T1,Tent,"[1,0,0] a light tent, for two"
S1,Stove,"[0,1,0] burns wood"
`
const PLAN = { id_column: 'sku', title_column: 'name', embed_columns: ['description'], model: 'toy-3' }
const source_id = 'db_shop'

test('a file is previewed, loaded, found by a question, and shown row by row; another organization sees nothing of it', async () => {
  const { call } = org!.owner
  const announced = await uploadFile(call, 'shop', CSV)
  expect(await call(previewLoad, { load_id: announced.id })).toMatchObject({
    columns: [{ name: 'sku' }, { name: 'name' }, { name: 'description' }],
    problems: [],
  })
  const load = await loadFile(system, call, 'shop', CSV, {
    ...PLAN,
    table: 'goods',
    save_configuration: true,
  })
  expect(load).toMatchObject({ state: 'succeeded', failure: null })
  expect(await call(showLoad, { load_id: load.id })).toMatchObject({ id: load.id, state: 'succeeded' })
  expect((await call(listLoads, { name: 'shop' })).loads.map(({ id }) => id)).toContain(load.id)
  expect((await other!.owner.call(listLoads, { name: 'shop' })).loads).toEqual([])
  await expect(other!.owner.call(showLoad, { load_id: load.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })

  const { tables, suggestion } = await call(listTables, { source_id })
  expect(tables).toMatchObject([{ table: 'goods', configured: true }])
  const { embedding_configs, ...rest } = suggestion!.connection_config
  const fetchable = embedding_configs.map((entry) => ({ ...entry, fetchable: true }))
  const connection_config = { ...rest, embedding_configs: fetchable }
  await call(saveSearchConfiguration, { source_id, ...suggestion!, connection_config })
  expect((await other!.owner.call(listTables, { source_id })).tables).toEqual([])

  await call(setDataSourceState, { source_id, enabled: true })
  await call(setDataSourceExposure, { source_id, exposed: true })
  const { results } = await call(queryDataSource, { source_id, query: '[0,1,0]' })
  expect(results.map(({ title }) => title)).toEqual(['Stove', 'Tent'])
  const handle = String(results[0]!.metadata['_handle'])
  const { hit } = await call(fetchDataSourceRow, { source_id, handle })
  expect(hit).toMatchObject({ id: 'S1', metadata: { description: '[0,1,0] burns wood' } })
  await expect(other!.owner.call(fetchDataSourceRow, { source_id, handle })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
})

test.runIf(inject('everyCase'))(
  'a file that ended its process twice is given up; one whose reading was only broken off is not',
  async () => {
    const { call } = org!.owner
    const file = makeXlsx({ S: [['sku'], ['T1']] })
    const start = async (table: string) => (await startFile(call, 'shop', file, { table }, 'xlsx')).id
    const planOf = async (id: string) =>
      (await system.db.select().from(loads).where(eq(loads.id, id)))[0]!.plan!
    /** As processes leave it that die while they read. */
    const noteBegun = async (id: string, conversionsBegun: number) => {
      const plan = { ...(await planOf(id)), conversionsBegun }
      await system.db.update(loads).set({ plan }).where(eq(loads.id, id))
    }
    const retried = await start('retried')
    await noteBegun(retried, 1)
    const begun: unknown[] = []
    const breaking: LoadDeps = {
      ...system.system.gateway!,
      async readTable() {
        begun.push((await planOf(retried)).conversionsBegun)
        throw new ServiceError('TIMEOUT')
      },
    }
    await takeLoadStep(breaking, never)
    expect([...begun, (await planOf(retried)).conversionsBegun]).toEqual([2, 1])
    await system.db.update(loads).set({ waitsUntil: null }).where(eq(loads.id, retried))
    await takeLoadSteps(system)
    expect(await call(showLoad, { load_id: retried })).toMatchObject({ state: 'succeeded', rows: 1 })
    expect(await planOf(retried)).not.toHaveProperty('conversionsBegun')

    const givenUp = await start('given_up')
    await noteBegun(givenUp, 2)
    await takeLoadSteps(system)
    expect(await call(showLoad, { load_id: givenUp })).toMatchObject({
      state: 'failed',
      problems: ['The server stopped twice while it read this file. Save it as CSV.'],
    })
  },
)

test('a table is replaced while questions see one version or the other, and undone', async () => {
  const { call } = org!.owner
  /** Sorted: how often a word is found elsewhere moves rows that are equally near. */
  const titlesOf = async () => {
    const { results } = await call(queryDataSource, { source_id, query: '[0,1,0]' })
    return results
      .map(({ title }) => String(title))
      .toSorted((one, other) => (one < other ? -1 : 1))
      .join(' ')
  }
  const countAudited = async () => {
    const { audit } = await call(listAudit, { org_id: org!.id, limit: 200 })
    const times = (action: string) => audit.filter((row) => row.action === action).length
    return [times('load.succeeded'), times('load.undone')]
  }
  const audited = await countAudited()
  const [before, after] = ['Stove Tent', 'Lamp Oven Tent']
  const file = `sku,name,description
T1,Tent,"[1,0,0] a light tent, for two"
S1,Oven,"[0,1,0] burns gas"
L1,Lamp,"[0,0,1] glows"
`
  expect(await titlesOf()).toBe(before)
  const versions = new Set([await versionOfShop()])
  const seen = new Set<string>()
  const over = new AbortController()
  const asking = (async () => {
    while (!over.signal.aborted) seen.add(await titlesOf())
  })()
  const load = await loadFile(system, call, 'shop', file, { ...PLAN, table: 'goods', replace: true }).finally(
    () => over.abort(),
  )
  await asking
  expect(load).toMatchObject({ state: 'succeeded', changes: { added: 1, changed: 1, gone: 0 } })
  expect([...seen].filter((titles) => titles !== before && titles !== after)).toEqual([])
  expect(await titlesOf()).toBe(after)
  versions.add(await versionOfShop())
  for (let nth = 0; nth < 2; nth++)
    expect(await call(undoLoad, { load_id: load.id })).toMatchObject({ undone: true })
  expect(await titlesOf()).toBe(before)
  expect([...versions.add(await versionOfShop())]).toHaveLength(3)
  await expect(other!.owner.call(undoLoad, { load_id: load.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })

  // A dry run counts, and changes nothing.
  const gateway = system.system.gateway!
  const { id: shop } = await call(showDataSource, { source_id })
  const [source] = await system.db.select().from(dataSources).where(eq(dataSources.id, shop))
  const changedAt = await rowsChangedAt(gateway, source!)
  const dry = { ...PLAN, table: 'goods', replace: true, dry_run: true }
  system.clock.advance(1)
  expect(await loadFile(system, call, 'shop', file, dry)).toMatchObject({
    state: 'succeeded',
    changes: { added: 1, changed: 1, gone: 0 },
    undo_until: null,
  })
  expect(await rowsChangedAt(gateway, source!)).toEqual(changedAt)
  expect(await countAudited()).toEqual(audited.map((times) => times + 1))
  expect(await titlesOf()).toBe(before)
  // What was replaced is kept for some days, and then brought back by nobody.
  const waitsUntil = new Date(system.clock.now().getTime() - 1)
  await system.db.update(loads).set({ waitsUntil }).where(eq(loads.id, load.id))
  await expect(call(undoLoad, { load_id: load.id, undone: false })).rejects.toMatchObject({
    code: 'CONFLICT',
  })
  expect(await titlesOf()).toBe(before)
  const isSwept = async () => {
    await sweepLoads(gateway)
    return (await system.db.select().from(loads).where(eq(loads.id, load.id))).length === 0
  }
  // Nor is it forgotten before it was deleted.
  const finishedAt = new Date(system.clock.now().getTime() - (LOAD_DAYS + 1) * 24 * 60 * 60_000)
  await system.db.update(loads).set({ finishedAt }).where(eq(loads.id, load.id))
  expect(await isSwept()).toBe(false)
  await takeLoadSteps(system)
  expect(await isSwept()).toBe(true)
})

const inShop = (statement: string) => inDatabase(org!, 'shop', (sql) => sql.unsafe(statement))
/** What questions go by to know that all their statements saw the same. */
const versionOfShop = async () =>
  String((await inShop(`select ${versionOf({ versions: new Set() })} as version`))[0]!['version'])
const refused = (code: string, message?: string) =>
  expect.objectContaining({
    code,
    ...(message !== undefined && { message: expect.stringContaining(message) }),
  })

test('rows are changed by their id, undone and done again; each value is as its column has it', async () => {
  const { call } = org!.owner
  const plan = { table: 'rows', id_column: 'id', embed_columns: [] }
  const load = (rows: readonly object[], more: object = {}) => {
    const file = rows.map((row) => JSON.stringify(row)).join('\n')
    return loadFile(system, call, 'shop', file, { ...plan, ...more }, 'ndjson')
  }
  const stored = async () => [
    ...(await inShop(
      `select id, price::text, day::text, at::text, is_new, tags, parts::text from rows order by id`,
    )),
  ]
  const row = (id: string, price: number, more: object = {}) => ({
    id,
    price,
    day: '2026-03-25',
    at: '2026-03-25T09:30:00+02:00',
    is_new: true,
    tags: ['y', 'x'],
    parts: [{ b: 1.5, a: null }],
    ...more,
  })
  const made = await load([row('a', 1.5), row('b', 2), row('c', 3, { tags: [], day: null })])
  expect(made).toMatchObject({ state: 'succeeded', rows: 3, changes: null, undo_until: null })
  const before = await stored()
  const versions = new Set([await versionOfShop()])
  const typed = {
    day: '2026-03-25',
    at: '2026-03-25 07:30:00',
    is_new: true,
    parts: '[{"a": null, "b": 1.5}]',
  }
  expect(before).toEqual([
    { ...typed, id: 'a', price: '1.5', tags: ['y', 'x'] },
    { ...typed, id: 'b', price: '2', tags: ['y', 'x'] },
    { ...typed, id: 'c', price: '3', tags: [], day: null },
  ])

  const changed = await load([row('a', 1.5), row('b', 2, { tags: ['x', 'y'] }), row('d', 4)], {
    upsert: true,
    delete_missing: true,
  })
  expect(changed).toMatchObject({ state: 'succeeded', changes: { added: 1, changed: 1, gone: 1 } })
  const after = await stored()
  expect(after).toEqual([
    before[0],
    { ...typed, id: 'b', price: '2', tags: ['x', 'y'] },
    { ...typed, id: 'd', price: '4', tags: ['y', 'x'] },
  ])
  versions.add(await versionOfShop())
  const undo = (undone = true) => call(undoLoad, { load_id: changed.id, undone })
  // What is loaded into another table of the source takes nothing of this one's away.
  expect(await load([{ id: 'x' }], { table: 'beside' })).toMatchObject({ state: 'succeeded' })
  for (let times = 0; times < 2; times++) {
    expect(await undo()).toMatchObject({ undone: true })
    expect(await stored()).toEqual(before)
  }
  versions.add(await versionOfShop())
  expect(await undo(false)).toMatchObject({ undone: false })
  expect(await stored()).toEqual(after)
  expect([...versions.add(await versionOfShop())]).toHaveLength(4)

  // What does not fit the table is told row by row, and none of them is added.
  const cells = ['a,1,,,3/4/2026 9:30', 'e,x,,,', 'f,1,,x,', 'f,1,12-24,,', ',1,,,', 'g,1']
  const file = ['id,price,day,tags,at', ...cells].join('\n')
  const { id } = await startFile(call, 'shop', file, { ...plan, append: true })
  await expect(undo()).rejects.toEqual(refused('CONFLICT', 'Another file is being loaded'))
  await takeLoadSteps(system)
  expect(await call(showLoad, { load_id: id })).toMatchObject({
    state: 'failed',
    failure: expect.stringContaining('Nothing was loaded'),
    problem_count: 8,
    problems: [
      'line 2: the table has a row with this id',
      'line 2: column at can be meant in two ways; choose its type',
      'line 3: column price of the table is a number',
      'line 4: column tags of the table is a list',
      'line 5: the id is that of line 4',
      'line 5: column day of the table is a date such as 2026-03-01',
      'line 6: column id, the id, is empty',
      'line 7: the row has 2 values, and the header has 5',
    ],
  })
  expect(await stored()).toEqual(after)

  const isFirst = eq(loads.id, made.id)
  const later = (days: number) =>
    system.db
      .update(loads)
      .set({ finishedAt: new Date(system.clock.now().getTime() + days * 24 * 60 * 60_000) })
      .where(isFirst)
  await later(1)
  await expect(undo()).rejects.toEqual(refused('CONFLICT', 'loaded again since then'))
  await later(-1)
  await inShop('alter table rows drop column parts')
  await expect(undo()).rejects.toEqual(refused('CONFLICT', 'was changed since the load'))
})

test('nothing is loaded of a file other than announced, over a table that was made meanwhile, or for whoever may not any more', async () => {
  const { call } = org!.owner
  const { call: theirs, userId } = await makeMember(system, org!, 'developer')
  const plan = { id_column: 'sku', embed_columns: [] }
  const file = 'sku\nN1\n'
  const sha256 = announced('shop', 'sku\nN2\n').sha256
  const { id: other } = await call(createLoad, { ...announced('shop', file), sha256 })
  await call(uploadLoadPart, { load_id: other, offset: 0, body: new Uint8Array(Buffer.from(file)) })
  const ids = [
    (await call(startLoad, { load_id: other, ...plan, table: 'never' })).id,
    (await startFile(call, 'shop', file, { ...plan, table: 'mine' })).id,
    (await startFile(theirs, 'shop', file, { ...plan, table: 'never_either' })).id,
  ]
  await inShop('create table mine (kept int)')
  await call(changeMemberRole, { org_id: org!.id, user_id: userId, role: 'viewer' })
  await takeLoadSteps(system)
  const ended = await Promise.all(ids.map((load_id) => call(showLoad, { load_id })))
  expect(ended).toMatchObject([
    { state: 'failed', failure: expect.stringContaining('does not have the SHA-256') },
    { state: 'failed', failure: expect.stringContaining('was made meanwhile') },
    { state: 'failed', rows: 0, failure: expect.stringContaining('may no longer') },
  ])
  const tables = await inShop(
    `select table_name::text as name, column_name::text as column from information_schema.columns
      where table_name in ('never', 'mine', 'never_either')`,
  )
  expect([...tables]).toEqual([{ name: 'mine', column: 'kept' }])
})

test('whoever works on a load that is canceled keeps nothing of it; that of another organization goes on', async () => {
  const gateway = system.system.gateway!
  const ids = await Promise.all(
    [org!, other!].map(async ({ owner }) => {
      return (await startFile(owner.call, 'shop', CSV, { ...PLAN, table: 'canceled' })).id
    }),
  )
  const claimed = [(await claimLoad(gateway))!, (await claimLoad(gateway))!]
  expect(claimed.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
  // At its last moment the table may be in its place already.
  const isFirst = eq(loads.id, ids[0]!)
  await system.db.update(loads).set({ phase: 'finishing' }).where(isFirst)
  await expect(org!.owner.call(cancelLoad, { load_id: ids[0]! })).rejects.toMatchObject({ code: 'CONFLICT' })
  await system.db.update(loads).set({ phase: 'reading' }).where(isFirst)
  // One file at a time becomes a table, of the same name in the same database.
  const second = await uploadFile(org!.owner.call, 'shop', 'sku\nC1\n')
  const startSecond = () =>
    org!.owner.call(startLoad, { load_id: second.id, table: 'canceled', embed_columns: [] })
  await expect(startSecond()).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('Another file'),
  })
  const beside = await insertSource(system, org!)
  const [{ sourceId }] = (await system.db.select().from(loads).where(isFirst)) as [LoadRow]
  await system.db.update(loads).set({ sourceId: beside.id }).where(isFirst)
  expect(await startSecond()).toMatchObject({ state: 'running' })
  await system.db.update(loads).set({ sourceId }).where(isFirst)
  await system.db.delete(dataSources).where(eq(dataSources.id, beside.id))
  await org!.owner.call(cancelLoad, { load_id: second.id })
  await org!.owner.call(cancelLoad, { load_id: ids[0]! })
  for (const load of claimed) {
    const isCanceled = load.id === ids[0]
    expect((await saveStep(gateway, load, { readBytes: 0 })) === undefined).toBe(isCanceled)
    expect(await renewLease(gateway, load)).toBe(!isCanceled)
    await releaseLoad(gateway, load)
  }
  await takeLoadSteps(system)
  const ended = [await org!.owner.call(showLoad, { load_id: ids[0]! })]
  ended.push(await other!.owner.call(showLoad, { load_id: ids[1]! }))
  expect(ended.map(({ state }) => state)).toEqual(['canceled', 'succeeded'])
})

test('a file goes on where it was interrupted, for the same person in the same database', async () => {
  const developer = await makeMember(system, org!, 'developer')
  const file = announced('shop', 'sku\nB1\n')
  const begin = async (call: Call) => (await call(createLoad, file)).id
  const first = await begin(org!.owner.call)
  expect(await begin(org!.owner.call)).toBe(first)
  const ofOthers = [await begin(developer.call), await begin(other!.owner.call)]
  expect(ofOthers).not.toContain(first)
  // So many of a person, and the others still may.
  const ids = [first]
  const another = async (call: Call) =>
    (await call(createLoad, announced('shop', `sku\n${unique('B')}\n`))).id
  while (ids.length < LOADS_UNFINISHED_PER_PERSON) ids.push(await another(org!.owner.call))
  await expect(another(org!.owner.call)).rejects.toMatchObject({ code: 'CONFLICT' })
  ids.push(await another(developer.call), ...ofOthers)
  // Nothing of them is staged.
  await system.db.delete(loads).where(inArray(loads.id, ids))
})

test('each part comes in its place, and a load starts once, with what it was first started with', async () => {
  const { call } = org!.owner
  const bytes = Buffer.from(`sku,name\nP1,${'x'.repeat(2 * LOAD_PART_MIN_BYTES)}\n`)
  const { id: load_id } = await call(createLoad, announced('shop', bytes))
  const part = (offset: number, end = bytes.length) =>
    call(uploadLoadPart, { load_id, offset, body: new Uint8Array(bytes.subarray(offset, end)) })
  const start = (more: object = {}) =>
    call(startLoad, { load_id, table: 'parts', embed_columns: [], id_column: 'sku', ...more })
  const first = LOAD_PART_MIN_BYTES
  await expect(part(0, first - 1)).rejects.toEqual(refused('INVALID_REQUEST'))
  expect(await part(0, first)).toMatchObject({ received: first, state: 'uploading' })
  for (const at of [0, first + 1])
    await expect(part(at)).rejects.toMatchObject({ code: 'CONFLICT', hint: `Go on with offset=${first}.` })
  const tooMuch = { load_id, offset: first, body: new Uint8Array(bytes.length) }
  await expect(call(uploadLoadPart, tooMuch)).rejects.toEqual(refused('CONFLICT', 'was announced with'))
  await expect(start()).rejects.toEqual(refused('CONFLICT', `${first} of ${bytes.length} bytes`))
  expect(await part(first)).toMatchObject({ received: bytes.length })

  await expect(start({ language: 'englsh' })).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    problems: [expect.stringMatching(/^language: must be one of .*english/)],
  })
  await expect(start({ table: 'goods' })).rejects.toMatchObject({
    code: 'CONFLICT',
    problems: ['a table, view or index of that name exists already'],
    hint: expect.stringContaining('Choose another table'),
  })
  expect(await start()).toMatchObject({ state: 'running', table: 'parts' })
  expect(await start()).toMatchObject({ id: load_id, state: 'running' })
  await expect(start({ table: 'others' })).rejects.toEqual(refused('CONFLICT', 'with other choices'))
  await expect(call(previewLoad, { load_id })).rejects.toEqual(refused('CONFLICT'))
  await expect(part(bytes.length)).rejects.toEqual(refused('CONFLICT', 'not uploaded any more'))
  for (let times = 0; times < 2; times++) expect(await call(cancelLoad, { load_id })).toEqual({})
  await expect(start()).rejects.toEqual(refused('CONFLICT', 'This load has ended'))

  // A header that can be none ends it at once, and so it takes no place.
  const bad = await uploadFile(call, 'shop', 'sku,sku,\n1,2,3\n')
  const problems = ['line 1: column 2 has the name of an earlier one', 'line 1: column 3 has no name']
  expect((await call(previewLoad, { load_id: bad.id })).problems).toEqual(problems)
  await expect(call(startLoad, { load_id: bad.id, embed_columns: [] })).rejects.toMatchObject({ problems })
  expect(await call(showLoad, { load_id: bad.id })).toMatchObject({
    state: 'failed',
    problems,
    problem_count: 2,
  })
  const workbook = { ...announced('shop', CSV, 'xlsx'), bytes: LOAD_TABLE_BYTES + 1 }
  await expect(call(createLoad, workbook)).rejects.toEqual(refused('TOO_LARGE'))
  await takeLoadSteps(system)
})

test('a load waits ever longer for a model that is away, and for a day at most', async () => {
  const plan = { ...PLAN, embed_columns: ['name'], table: 'waiting' }
  const { id } = await startFile(org!.owner.call, 'shop', CSV, plan)
  const deps: LoadDeps = {
    ...system.system.gateway!,
    embedTexts: () => Promise.reject(new ServiceError('EMBEDDING_UNAVAILABLE')),
  }
  const isIt = eq(loads.id, id)
  const after = async (failingSeconds: number) => {
    const since = new Date(system.clock.now().getTime() - failingSeconds * 1000)
    const failingSince = failingSeconds > 0 ? since : null
    await system.db.update(loads).set({ waitsUntil: null, failingSince }).where(isIt)
    await takeLoadStep(deps, never)
    const [{ state, failure, waitsUntil }] = (await system.db.select().from(loads).where(isIt)) as [LoadRow]
    const seconds = waitsUntil && Math.round((waitsUntil.getTime() - system.clock.now().getTime()) / 1000)
    return [state, failure, seconds]
  }
  expect(await after(0)).toEqual(['running', null, 15])
  expect(await after(200)).toEqual(['running', null, 200])
  expect(await after(3_600)).toEqual(['running', null, 600])
  expect(await after(LOAD_GIVE_UP_SECONDS + 1)).toEqual(['failed', 'model', null])
  await takeLoadSteps(system)
})

test('vectors of other columns are not taken over', async () => {
  const file = 'sku,name,description,more\nX1,"[0,0,1] a name","[0,1,0] a text",\n'
  const load = (embed: string, more: object) =>
    loadFile(system, org!.owner.call, 'shop', file, {
      ...PLAN,
      // A row needs one text of them.
      embed_columns: [embed, 'more'],
      table: 'vectors',
      ...more,
    })
  await load('description', {})
  expect(await load('name', { replace: true })).toMatchObject({ state: 'succeeded' })
  const vectors = await inDatabase(org!, 'shop', (sql) => sql`select embedding::text as vector from vectors`)
  expect([...vectors]).toEqual([{ vector: '[0,0,1]' }])
})

test('a database that somebody is creating is not taken from them', async () => {
  // By the database's clock, which goes on.
  const preparingUntil = new Date('2100-01-01T00:00:00Z')
  const { id, name } = await insertSource(system, org!, { physicalName: unique('t'), preparingUntil })
  await expect(org!.owner.call(createDatabase, { name })).rejects.toMatchObject({ code: 'CONFLICT' })
  await expect(org!.owner.call(createLoad, announced(name, CSV))).rejects.toMatchObject({ code: 'CONFLICT' })
  const { call } = org!.owner
  const at = { source_id: `db_${name}` }
  for (const [attempt, message] of [
    [() => call(showConnectionString, { name }), 'still being created'],
    [() => call(rotateConnectionString, { name }), 'that is ready'],
    [() => call(listTables, at), 'being created'],
    [() => call(setDataSourceState, { ...at, enabled: true }), 'still being created'],
  ] as const)
    await expect(attempt()).rejects.toEqual(refused('CONFLICT', message))
  // Nor is it one of documents before it is there, and the finished ones of tables never are.
  const ofDocuments = eq(dataSources.id, id)
  const documents = () => call(showDocuments, { name })
  await expect(documents()).rejects.toEqual(refused('CONFLICT', 'does not hold documents'))
  await expect(call(syncDocuments, { name: 'shop', files: [] })).rejects.toEqual(
    refused('CONFLICT', 'does not hold documents'),
  )
  await system.db
    .update(dataSources)
    .set({ documents: {} as never })
    .where(ofDocuments)
  await expect(documents()).rejects.toEqual(refused('CONFLICT', 'still being created'))
  // Of a name that only another organization has, nothing is known.
  for (const attempt of [
    () => other!.owner.call(showConnectionString, { name }),
    () => other!.owner.call(rotateConnectionString, { name }),
    () => other!.owner.call(removeDatabase, { name, confirm: name }),
    () => other!.owner.call(listTables, at),
    () => other!.owner.call(listLoads, { name }),
    () => other!.owner.call(createLoad, announced(name, CSV)),
    () => other!.owner.call(showDocuments, { name }),
  ])
    await expect(attempt()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await system.db.delete(dataSources).where(ofDocuments)
})

test('a database that could not be created is forgotten once nothing of it is left', async () => {
  const gateway = system.system.gateway!
  const fail = async () => {
    throw new Error('away')
  }
  const { userId, name: userName } = org!.owner
  const owner = { kind: 'user', orgId: org!.id, userId, userName, role: 'owner' }
  const created = async (remove: () => Promise<void>) => {
    const managed = { ...gateway.managed, create: fail, remove }
    const name = unique('half').replace('-', '_')
    const create = createManaged({ ...gateway, managed })
    await expect(create({ ...owner, requestId: name } as never, { name })).rejects.toThrow('away')
    return (await system.db.select().from(dataSources).where(eq(dataSources.name, name))).length
  }
  expect([await created(async () => {}), await created(fail)]).toEqual([0, 1])
  await system.db.delete(dataSources).where(like(dataSources.name, 'half%'))
})

test('texts are embedded as a load embeds them', async () => {
  const { data } = await org!.owner.call(createEmbeddings, {
    model: 'toy-3',
    input: ['[0,1,0] a', '[0,0,1] b'],
  })
  expect(data).toMatchObject([
    { index: 0, embedding: [0, 1, 0] },
    { index: 1, embedding: [0, 0, 1] },
  ])
  const packed = { model: 'toy-3', input: '[1,2.5,3]', encoding_format: 'base64', dimensions: 3 } as const
  const [one] = (await org!.owner.call(createEmbeddings, packed)).data
  const bytes = Buffer.from(String(one!.embedding), 'base64')
  expect([bytes.length, ...[0, 4, 8].map((at) => bytes.readFloatLE(at))]).toEqual([12, 1, 2.5, 3])
  await expect(org!.owner.call(createEmbeddings, { ...packed, dimensions: 2 })).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    problems: ['dimensions: the vectors of this model have 3'],
  })
  // One that is closed is told like one that does not exist.
  const refusalOf = (model: string) =>
    org!.owner
      .call(createEmbeddings, { model, input: 'a' })
      .catch(({ code, message, problems }) => ({ code, message, problems }))
  expect(await refusalOf('toy-8')).toMatchObject({ code: 'INVALID_REQUEST' })
  expect(await refusalOf('toy-8')).toEqual(await refusalOf('no-such-model'))
})

test('of the tokens of a day those are given back that were not used', async () => {
  const tokens = async () => {
    const counts = await system.db.select().from(embeddingCounts)
    return [org!, other!].map(({ id }) => counts.find(({ orgId }) => orgId === id)?.tokens ?? 0)
  }
  for (const { owner } of [org!, other!])
    await owner.call(createEmbeddings, { model: 'toy-3', input: '[0,1,0] counted' })
  const before = await tokens()
  expect(before).not.toContain(0)
  await expect(
    org!.owner.call(createEmbeddings, { model: 'toy-broken', input: 'never embedded' }),
  ).rejects.toMatchObject({ code: 'EMBEDDING_UNAVAILABLE' })
  expect(await tokens()).toEqual(before)
  // A process whose clock is behind counts into the day that is open.
  const take = (days: number, count: number) => {
    const clock = () => new Date(system.clock.now().getTime() + days * 24 * 60 * 60_000)
    return takeTokens({ db: system.ownDb, clock, embeddingTokensPerDay: 1e9 }, org!.id, count)
  }
  // Who has too little left is told when the next day begins, and keeps what is left.
  const now = system.clock.now()
  const nextDay = new Date(now).setUTCHours(24, 0, 0, 0)
  for (const [limit, count] of [
    [before[0]! + 1, 2],
    [1, 2],
  ] as const) {
    const deps = { db: system.ownDb, clock: () => now, embeddingTokensPerDay: limit }
    await expect(takeTokens(deps, org!.id, count)).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      retryAfterSeconds: Math.ceil((nextDay - now.getTime()) / 1000),
    })
  }
  expect(await tokens()).toEqual(before)
  const giveBack = await take(-1, 1)
  expect(await tokens()).toEqual([before[0]! + 1, before[1]])
  await giveBack(1)
  expect(await tokens()).toEqual(before)
  // What was embedded before something failed has cost something.
  const deps: LoadDeps = {
    ...system.system.gateway!,
    async embedTexts(_orgId, _model, _texts, _signal, onUsed) {
      onUsed!(0)
      throw new Error('away')
    },
  }
  const plan = { model: 'toy-3' } as StepContext['plan']
  await expect(
    embedFirst({ deps, plan, signal: never }, { orgId: org!.id } as LoadRow, ['one', 'two of them']),
  ).rejects.toThrow('away')
  expect(await tokens()).toEqual([before[0]! + 1, before[1]])
  // What is left of a day is nothing of the next one.
  const giveBackLate = await take(0, 2)
  await take(1, 3)
  await giveBackLate(2)
  expect(await tokens()).toEqual([3, before[1]])
})

test('a database elsewhere is attached by its address, for the organization that knows it', async () => {
  const elsewhere = await startWithDatabases({ MANAGED_DATABASE_URL: 'embedded' })
  try {
    const { owner } = await makeOrganization(elsewhere)
    await owner.call(createDatabase, { name: 'erp' })
    const { url } = await owner.call(showConnectionString, { name: 'erp' })
    // Nothing of a session is left for the next one.
    await atAddress(url, (sql) => sql`select pg_advisory_lock(7), set_config('work_mem', '1MB', false)`)
    const held = `select (select count(*)::int from pg_locks where locktype = 'advisory') as locks, current_setting('work_mem') <> '1MB' as is_reset`
    expect([...(await atAddress(url, (sql) => sql.unsafe(held)))]).toEqual([{ locks: 0, is_reset: true }])
    await atAddress(url, (sql) => sql.unsafe('create table orders (id int, title text, embedding vector(3))'))
    // Both kinds count.
    const isMany = and(eq(dataSources.orgId, org!.id), like(dataSources.name, 'many%'))
    const [one, ...others] = await system.db.select().from(dataSources).where(eq(dataSources.orgId, org!.id))
    const many = Array.from({ length: DATABASES_MAX - others.length - 1 }, (_, n) => ({
      ...one!,
      id: makeId('ds', n),
      name: `many${n}`,
      physicalName: null,
    }))
    await system.db.insert(dataSources).values(many)
    for (const attempt of [
      () => org!.owner.call(attachDatabase, { name: 'erp', url }),
      () => org!.owner.call(createDatabase, { name: 'erp' }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining('at most'),
      })
    }
    await system.db.delete(dataSources).where(isMany)
    await org!.owner.call(attachDatabase, { name: 'erp', url })
    // Its login is never shown again, and it is only read.
    for (const [attempt, message] of [
      [() => org!.owner.call(attachDatabase, { name: 'erp', url }), 'already exists'],
      [() => org!.owner.call(showConnectionString, { name: 'erp' }), 'never shown again'],
      [() => org!.owner.call(rotateConnectionString, { name: 'erp' }), 'Only a managed database'],
      [() => org!.owner.call(createLoad, announced('erp', CSV)), 'only read, never written to'],
    ] as const)
      await expect(attempt()).rejects.toEqual(refused('CONFLICT', message))
    expect((await org!.owner.call(listLoads, { name: 'erp' })).loads).toEqual([])
    expect((await org!.owner.call(listTables, { source_id: 'db_erp' })).tables).toMatchObject([
      { table: 'orders' },
    ])
    const names = (await other!.owner.call(listDataSources, {})).data_sources.map(({ id }) => id)
    expect(names).not.toContain('db_erp')
    const remove = (confirm: string) => org!.owner.call(removeDatabase, { name: 'erp', confirm })
    await expect(remove('ERP')).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      hint: expect.stringContaining('confirm=erp'),
    })
    // Detached, it is left as it is.
    await remove('erp')
    await expect(remove('erp')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect([...(await atAddress(url, (sql) => sql`select count(*)::int as n from orders`))]).toEqual([
      { n: 0 },
    ])
  } finally {
    await elsewhere.stop()
  }
})
