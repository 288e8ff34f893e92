/** From a file to an answer: a database, a file that is previewed and loaded into it, questions, rows; and one that is attached. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { embeddingCounts, loads } from '../../db/schema.ts'
import { createDatabase, attachDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import {
  fetchDataSourceRow,
  listDataSources,
  listTables,
  queryDataSource,
  saveSearchConfiguration,
  setDataSourceExposure,
  setDataSourceState,
} from '../../src/contracts/data-sources.ts'
import { createEmbeddings } from '../../src/contracts/embeddings.ts'
import { cancelLoad, listLoads, previewLoad, showLoad, undoLoad } from '../../src/contracts/loads.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import { claimLoad, releaseLoad, renewLease, saveStep } from '../../src/cores/loads/claim-load.ts'
import { takeLoadStep, type LoadDeps } from '../../src/cores/loads/index.ts'
import { atAddress, startWithDatabases, type SystemWithDatabases } from '../support/data-sources.ts'
import { loadFile, never, startFile, takeLoadSteps, uploadFile } from '../support/loads.ts'
import { makeXlsx } from '../support/table-files.ts'
import { makeOrganization, type Org } from '../support/make.ts'

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
  const [before, after] = ['Stove Tent', 'Lamp Oven Tent']
  const file = `sku,name,description
T1,Tent,"[1,0,0] a light tent, for two"
S1,Oven,"[0,1,0] burns gas"
L1,Lamp,"[0,0,1] glows"
`
  expect(await titlesOf()).toBe(before)
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
  expect(await call(undoLoad, { load_id: load.id })).toMatchObject({ undone: true })
  expect(await titlesOf()).toBe(before)
  await expect(other!.owner.call(undoLoad, { load_id: load.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
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

test('texts are embedded as a load embeds them', async () => {
  const { data } = await org!.owner.call(createEmbeddings, {
    model: 'toy-3',
    input: ['[0,1,0] a', '[0,0,1] b'],
  })
  expect(data).toMatchObject([
    { index: 0, embedding: [0, 1, 0] },
    { index: 1, embedding: [0, 0, 1] },
  ])
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
})

test('a database elsewhere is attached by its address, for the organization that knows it', async () => {
  const elsewhere = await startWithDatabases({ MANAGED_DATABASE_URL: 'embedded' })
  try {
    const { owner } = await makeOrganization(elsewhere)
    await owner.call(createDatabase, { name: 'erp' })
    const { url } = await owner.call(showConnectionString, { name: 'erp' })
    await atAddress(url, (sql) => sql.unsafe('create table orders (id int, title text, embedding vector(3))'))
    await org!.owner.call(attachDatabase, { name: 'erp', url })
    expect((await org!.owner.call(listTables, { source_id: 'db_erp' })).tables).toMatchObject([
      { table: 'orders' },
    ])
    const names = (await other!.owner.call(listDataSources, {})).data_sources.map(({ id }) => id)
    expect(names).not.toContain('db_erp')
  } finally {
    await elsewhere.stop()
  }
})
