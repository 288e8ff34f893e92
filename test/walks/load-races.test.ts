/** Loads into a database on a server, where a statement goes on after its sender is gone, and a quota refuses logins. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import postgres from 'postgres'
import { and, eq, sql } from '../../db/drizzle.ts'
import { openManagedServer, type ManagedServer } from '../../db/managed/postgres-server.ts'
import { dataSources, diskUse, loads } from '../../db/schema.ts'
import { createDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import { cancelLoad, createLoad, showLoad, startLoad, uploadLoadPart } from '../../src/contracts/loads.ts'
import { takeLoadStep } from '../../src/cores/loads/index.ts'
import {
  atAddress,
  inDatabase,
  managedDatabases,
  startWithDatabases,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { databaseUrl } from '../support/database.ts'
import {
  announced,
  loadFile,
  never,
  startFile,
  takeLoadSteps,
  takeUntil,
  uploadFile,
  withoutAnswers,
} from '../support/loads.ts'
import { makeOrganization, unique, type Org } from '../support/make.ts'

const hasServer = inject('engine') === 'postgres' && managedDatabases() !== 'embedded'

const fileOf = (...ids: string[]) =>
  `sku,name,description\n${ids.map((id) => `${id},Tent,"[1,0,0] a tent"\n`).join('')}`
const PLAN = { id_column: 'sku', title_column: 'name', embed_columns: ['description'], model: 'toy-3' }

describe.skipIf(!hasServer)('loads on a server with pgvector (TEST_PGVECTOR_URL)', () => {
  let system: SystemWithDatabases
  let server: ManagedServer
  let org: Org

  beforeAll(async () => {
    system = await startWithDatabases()
    server = openManagedServer(managedDatabases())
    org = await makeOrganization(system)
    await org.owner.call(createDatabase, { name: 'shop' })
  })
  afterAll(async () => {
    await server.close()
    await system.stop()
  })

  const table = () => unique('t').replaceAll('-', '_')
  const isLoad = (id: string) => and(eq(loads.orgId, org.id), eq(loads.id, id))
  const show = (load_id: string) => org.owner.call(showLoad, { load_id })
  const skusIn = async (name: string) =>
    (await inDatabase(org, 'shop', (client) => client.unsafe(`select sku from ${name} order by 1`))).map(
      ({ sku }) => String(sku),
    )
  const step = (stopping = never) => takeLoadStep(system.system.gateway!, stopping)

  /** Of loads, at a lock. */
  const waiting = async () => {
    const [found] = await inDatabase(org, 'shop', (client) =>
      client.unsafe(
        `select count(*)::int as n from pg_stat_activity
          where datname = current_database() and application_name = 'svc load' and wait_event_type = 'Lock'`,
      ),
    )
    return Number(found!['n'])
  }

  const untilWaiting = async (count: number) => {
    await expect.poll(waiting, { timeout: 15_000 }).toBe(count)
  }

  /** As somebody does who has the login, in a transaction that stays open. Returns how to end it. */
  async function holdLock(statement: string): Promise<() => Promise<void>> {
    const { url } = await org.owner.call(showConnectionString, { name: 'shop' })
    const client = postgres(url, { max: 1, onnotice() {} })
    const isHeld = Promise.withResolvers<void>()
    const isOver = Promise.withResolvers<void>()
    const held = client.begin(async (tx) => {
      await tx.unsafe(statement)
      isHeld.resolve()
      await isOver.promise
    })
    await Promise.race([isHeld.promise, held])
    return async () => {
      isOver.resolve()
      await held
      await client.end({ timeout: 5 })
    }
  }

  /** The first waits in the database and is taken for dead; the second comes to the same statement. */
  async function takeTwice(id: string, lock: string): Promise<void> {
    const release = await holdLock(lock)
    const first = step()
    await untilWaiting(1)
    await system.db
      .update(loads)
      .set({ leaseUntil: sql`now() - interval '1 second'` })
      .where(isLoad(id))
    const second = step()
    await untilWaiting(2)
    await release()
    await Promise.all([first, second])
    await system.db.update(loads).set({ waitsUntil: null }).where(isLoad(id))
    await takeLoadSteps(system)
  }

  describe('a process that lost its load, or was killed in the middle of a statement, does no harm', () => {
    test('to the indexes', async () => {
      const name = table()
      const { id } = await startFile(org.owner.call, 'shop', fileOf('a', 'b'), { ...PLAN, table: name })
      await takeUntil(system, id, 'indexing')
      await takeTwice(id, `lock table svc_loads."${id}" in row exclusive mode`)
      expect(await show(id)).toMatchObject({ state: 'succeeded', failure: null })
      expect(await skusIn(name)).toEqual(['a', 'b'])
    })

    test('to the table that is put in its place', async () => {
      const name = table()
      const { id } = await startFile(org.owner.call, 'shop', fileOf('a', 'b'), { ...PLAN, table: name })
      await takeUntil(system, id, 'finishing')
      await takeTwice(id, `lock table svc_loads."${id}" in access share mode`)
      expect(await show(id)).toMatchObject({ state: 'succeeded', failure: null })
      expect(await skusIn(name)).toEqual(['a', 'b'])
    })

    test('to the rows that are appended', async () => {
      const name = table()
      await loadFile(system, org.owner.call, 'shop', fileOf('a'), { ...PLAN, table: name })
      const plan = { ...PLAN, table: name, append: true }
      const { id } = await startFile(org.owner.call, 'shop', fileOf('b', 'c'), plan)
      await takeUntil(system, id, 'finishing')
      await takeTwice(id, `lock table ${name} in share mode`)
      expect(await show(id)).toMatchObject({ state: 'succeeded', failure: null })
      expect(await skusIn(name)).toEqual(['a', 'b', 'c'])
    })
  })

  test('a process that stops leaves no statement behind it', async () => {
    const { id } = await startFile(org.owner.call, 'shop', fileOf('a'), { ...PLAN, table: table() })
    await takeUntil(system, id, 'indexing')
    const release = await holdLock(`lock table svc_loads."${id}" in row exclusive mode`)
    const stopping = new AbortController()
    const stopped = step(stopping.signal)
    await untilWaiting(1)
    stopping.abort()
    await stopped
    await untilWaiting(0)
    await release()
    await takeLoadSteps(system)
    expect(await show(id)).toMatchObject({ state: 'succeeded' })
  })

  test('a load that is canceled lets go of its statement, and of its place', async () => {
    const { id } = await startFile(org.owner.call, 'shop', fileOf('a'), { ...PLAN, table: table() })
    await takeUntil(system, id, 'indexing')
    const release = await holdLock(`lock table svc_loads."${id}" in row exclusive mode`)
    const taken = step()
    await untilWaiting(1)
    await org.owner.call(cancelLoad, { load_id: id })
    await taken
    await untilWaiting(0)
    await release()
    await takeLoadSteps(system)
    expect(await show(id)).toMatchObject({ state: 'canceled' })
  }, 60_000)

  describe('an organization over its disk quota', () => {
    const physicalName = async () => {
      const [row] = await system.db.select().from(dataSources).where(eq(dataSources.orgId, org.id))
      return row!.physicalName!
    }
    async function setOver(isOver: boolean): Promise<void> {
      const now = system.clock.now()
      const use = { bytes: 1, measuredAt: now, overSince: isOver ? now : null }
      await system.db
        .insert(diskUse)
        .values({ orgId: org.id, ...use })
        .onConflictDoUpdate({ target: diskUse.orgId, set: use })
      const name = await physicalName()
      await server.setConnectRights({ allowed: isOver ? [] : [name], refused: isOver ? [name] : [] })
    }
    /** By the operator's login. */
    const stagedOf = async (id: string) =>
      atAddress(databaseUrl(managedDatabases(), await physicalName()), (client) =>
        client.unsafe(
          `select tablename from pg_tables where schemaname = 'svc_loads' and starts_with(tablename, '${id}')
            union all select load_id from svc_loads.content where load_id = '${id}'`,
        ),
      )

    test('has what a load staged removed, and begins no other', async () => {
      const { id } = await startFile(org.owner.call, 'shop', fileOf('a', 'b'), { ...PLAN, table: table() })
      const uploaded = await uploadFile(org.owner.call, 'shop', fileOf('c'))
      await takeUntil(system, id, 'embedding')
      await setOver(true)
      try {
        await takeLoadSteps(system)
        const ended = await show(id)
        expect(ended.state).toBe('failed')
        expect(ended.failure).toMatch(/disk quota/)
        expect(await stagedOf(id)).toEqual([])
        const isRefused = expect.objectContaining({
          code: 'CONFLICT',
          message: expect.stringContaining('disk quota'),
        })
        const more = announced('shop', fileOf('d'))
        await expect(org.owner.call(createLoad, more)).rejects.toEqual(isRefused)
        const load_id = uploaded.id
        await expect(org.owner.call(startLoad, { load_id, ...PLAN })).rejects.toEqual(isRefused)
        await system.db.update(loads).set({ received: 0 }).where(isLoad(load_id))
        const body = new Uint8Array(Buffer.from(fileOf('c')))
        const part = org.owner.call(uploadLoadPart, { load_id, offset: 0, body })
        await expect(part).rejects.toEqual(isRefused)
        await org.owner.call(cancelLoad, { load_id })
        await takeLoadSteps(system)
        expect(await stagedOf(load_id)).toEqual([])
      } finally {
        await setOver(false)
      }
    })

    test('keeps a table that was in its place before', async () => {
      const name = table()
      const plan = { ...PLAN, table: name, save_configuration: true }
      const { id } = await startFile(org.owner.call, 'shop', fileOf('a', 'b'), plan)
      await takeUntil(system, id, 'finishing')
      await takeLoadStep(withoutAnswers(system), never)
      await system.db.update(loads).set({ waitsUntil: null }).where(isLoad(id))
      await setOver(true)
      try {
        await takeLoadSteps(system)
        expect(await show(id)).toMatchObject({ state: 'succeeded', configuration_saved: true })
        expect(await stagedOf(id)).toEqual([])
      } finally {
        await setOver(false)
      }
      expect(await skusIn(name)).toEqual(['a', 'b'])
    })
  })
})
