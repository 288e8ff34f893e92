/** Loads into a database on a server, where a statement goes on after its sender is gone, and a quota refuses logins. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import postgres from 'postgres'
import { and, eq, inArray, sql } from '../../db/drizzle.ts'
import { openManagedServer, type ManagedServer } from '../../db/managed/postgres-server.ts'
import { dataSources, diskUse, loads } from '../../db/schema.ts'
import { notify } from '../../db/listen.ts'
import { createDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import { cancelLoad, createLoad, showLoad, startLoad, uploadLoadPart } from '../../src/contracts/loads.ts'
import {
  readWithOwnLogin,
  writeWithOwnLogin,
  type ManagedDatabases,
  type Queries,
} from '../../src/cores/databases/index.ts'
import { takeLoadStep, uploadLoadPart as uploadPart } from '../../src/cores/loads/index.ts'
import { startLoads } from '../../src/worker/loads.ts'
import {
  atAddress,
  inDatabase,
  managedDatabases,
  startWithDatabases,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { databaseUrl, onServer } from '../support/database.ts'
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

// The server of npm has no pgvector.
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
  async function holdLock(statement: string, of = org): Promise<() => Promise<void>> {
    const { url } = await of.owner.call(showConnectionString, { name: 'shop' })
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

  describe('what was cleaned up is not made again by a statement that waited meanwhile', () => {
    const stagedOf = (id: string) =>
      inDatabase(org, 'shop', (client) =>
        client.unsafe(
          `select tablename::text as name from pg_tables where schemaname = 'svc_loads' and starts_with(tablename, '${id}')`,
        ),
      )
    const holdLoad = (id: string) =>
      holdLock(`select pg_advisory_xact_lock(hashtextextended('svc load ${id}', 0))`)
    const cleanUp = async (id: string) => {
      await org.owner.call(cancelLoad, { load_id: id })
      await inDatabase(org, 'shop', (client) =>
        client.unsafe(`drop table if exists svc_loads."${id}_rows", svc_loads."${id}_content"`),
      )
      await system.db
        .update(loads)
        .set({ isStaged: false, leaseToken: null, leaseUntil: null })
        .where(isLoad(id))
    }

    /** A way to the server that is lost when a statement with these words is sent; `arrive` lets that one through. */
    async function lossyWay(words: string) {
      const { host, port } = await system.system.gateway!.managed.address()
      const lost = Promise.withResolvers<() => void>()
      const proxy = createServer((client) => {
        const upstream = connect({ host, port })
        for (const socket of [client, upstream]) socket.on('error', () => {})
        upstream.pipe(client, { end: false })
        client.on('data', (chunk: Buffer) => {
          if (!chunk.includes(words)) return void upstream.write(chunk)
          client.destroy()
          lost.resolve(() => void upstream.resume().end(chunk))
        })
      })
      await once(proxy.listen(0, '127.0.0.1'), 'listening')
      return {
        address: { host: '127.0.0.1', port: (proxy.address() as AddressInfo).port, ssl: 'disable' as const },
        arrive: async () => (await lost.promise)(),
        close: () => void proxy.close(),
      }
    }

    /** The whole file as its first part; returns why it was refused. */
    async function uploadAt(address: ManagedDatabases['address'], load_id: string, file: Buffer) {
      const gateway = system.system.gateway!
      const [row] = await system.db.select().from(loads).where(isLoad(load_id))
      const principal = { kind: 'user', orgId: org.id, userId: row!.createdBy, role: 'owner' } as never
      const upload = uploadPart({ ...gateway, managed: { ...gateway.managed, address } })
      return upload(principal, { load_id, offset: 0, body: new Uint8Array(file) }).then(
        () => undefined,
        (error: unknown) => error,
      )
    }

    test('of an upload', async () => {
      const bytes = Buffer.from(fileOf('a', unique('late')))
      const { id: load_id } = await org.owner.call(createLoad, announced('shop', bytes))
      const release = await holdLoad(load_id)
      const address = async () => {
        await system.db
          .update(loads)
          .set({ leaseUntil: sql`now() + interval '3 seconds'` })
          .where(isLoad(load_id))
        return system.system.gateway!.managed.address()
      }
      const refusal = uploadAt(address, load_id, bytes)
      await untilWaiting(1)
      // By the clock of the server: the statement that waits carries the end of its lease.
      const isOver = sql<boolean>`${loads.leaseUntil} < now()`
      const leased = () => system.db.select({ isOver }).from(loads).where(isLoad(load_id))
      await expect.poll(leased).toEqual([{ isOver: true }])
      await cleanUp(load_id)
      await release()
      expect(await refusal).toMatchObject({ code: 'CONFLICT' })
      expect(await stagedOf(load_id)).toEqual([])
    })

    /** Its connection is lost with a statement on its way. Returns how to let that one arrive. */
    async function loseUpload(load_id: string, file: Buffer, words: string): Promise<() => Promise<void>> {
      const way = await lossyWay(words)
      const refusal = await uploadAt(() => Promise.resolve(way.address), load_id, file)
      expect(refusal).toMatchObject({ code: 'TIMEOUT' })
      way.close()
      return way.arrive
    }
    const leaseOf = async (id: string) =>
      (await system.db.select().from(loads).where(isLoad(id)))[0]!.leaseToken

    test('of an upload whose connection was lost', async () => {
      const bytes = Buffer.from(fileOf('a', unique('lost')))
      const { id: load_id } = await org.owner.call(createLoad, announced('shop', bytes))
      const arrive = await loseUpload(load_id, bytes, 'create table')
      await org.owner.call(cancelLoad, { load_id })
      await takeLoadSteps(system)
      await arrive()
      await expect.poll(() => stagedOf(load_id)).toHaveLength(1)
      await system.db
        .update(loads)
        .set({ leaseUntil: sql`now() - interval '1 second'` })
        .where(isLoad(load_id))
      await takeLoadSteps(system)
      expect(await stagedOf(load_id)).toEqual([])
    })

    test('of an upload, which does not wait where nothing can be made any more', async () => {
      const bytes = Buffer.from(fileOf('a', unique('lost')))
      const { id: load_id } = await org.owner.call(createLoad, announced('shop', bytes))
      // The connection is lost before anything is made, and afterwards.
      for (const words of ['clock_timestamp', 'insert into']) {
        const arrive = await loseUpload(load_id, bytes, words)
        expect(await leaseOf(load_id), words).toBeNull()
        await arrive()
      }
      await org.owner.call(uploadLoadPart, { load_id, offset: 0, body: new Uint8Array(bytes) })
      await org.owner.call(cancelLoad, { load_id })
      await takeLoadSteps(system)
      expect(await stagedOf(load_id)).toEqual([])
    })

    test('of a step', async () => {
      const { id } = await startFile(org.owner.call, 'shop', fileOf('a', 'b'), { ...PLAN, table: table() })
      await takeUntil(system, id, 'checking')
      const release = await holdLoad(id)
      const late = step()
      await untilWaiting(1)
      await cleanUp(id)
      await release()
      await late
      expect(await stagedOf(id)).toEqual([])
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

  test('what was staged is removed with the login of its people, who are within their disk quota', async () => {
    const { id } = await startFile(org.owner.call, 'shop', fileOf('a'), { ...PLAN, table: table() })
    await org.owner.call(cancelLoad, { load_id: id })
    const { gateway } = system.system
    const managed = { ...gateway!.managed, questionLogin: () => Promise.reject(new Error('not this one')) }
    await takeLoadStep({ ...gateway!, managed }, never)
    const [row] = await system.db.select().from(loads).where(isLoad(id))
    expect(row).toMatchObject({ state: 'canceled', isStaged: false, waitsUntil: null })
  })

  test('a statement has its time: a minute, or twenty over many rows, and ten seconds for a lock', async () => {
    const name = table()
    const as = (statement: string) => inDatabase(org, 'shop', (client) => client.unsafe(statement))
    await loadFile(system, org.owner.call, 'shop', fileOf('a'), { ...PLAN, table: name })
    await as(`create table times (statement text, lock text);
      create function timed() returns trigger language plpgsql as $$ begin insert into times
        values (current_setting('statement_timeout'), current_setting('lock_timeout')); return null; end $$;
      create trigger timed after insert on ${name} execute function timed()`)
    const many = Array.from({ length: 1_001 }, (_, at) => `m${at}`)
    for (const ids of [['b'], many]) {
      const plan = { ...PLAN, table: name, append: true }
      const load = await loadFile(system, org.owner.call, 'shop', fileOf(...ids), plan)
      expect(load.state).toBe('succeeded')
    }
    expect(await as('select * from times')).toEqual([
      { statement: '1min', lock: '10s' },
      { statement: '20min', lock: '10s' },
    ])
    await as('drop table times; drop function timed() cascade')
  }, 60_000)

  test('organizations that hold locks in their own databases keep no other one waiting', async () => {
    const holding = await Promise.all(Array.from({ length: 4 }, () => makeOrganization(system)))
    const releases = await Promise.all(
      holding.map(async (of) => {
        await of.owner.call(createDatabase, { name: 'shop' })
        const { id } = await startFile(of.owner.call, 'shop', fileOf('a'), PLAN)
        return holdLock(`lock table svc_loads."${id}_rows" in access exclusive mode`, of)
      }),
    )
    const ids = holding.map(({ id }) => id)
    const names = (await system.db.select().from(dataSources).where(inArray(dataSources.orgId, ids))).map(
      ({ physicalName }) => `'${physicalName}'`,
    )
    const waitingOfAll = async () =>
      (
        await onServer(
          managedDatabases(),
          `select datname::text as name from pg_stat_activity where datname in (${names.join()})
            and application_name = 'svc load' and wait_event_type = 'Lock'`,
        )
      ).length
    const running = startLoads(system.system.gateway!)
    try {
      await expect.poll(waitingOfAll, { timeout: 15_000 }).toBe(4)
      const { id } = await startFile(org.owner.call, 'shop', fileOf('a'), { ...PLAN, table: table() })
      const state = async () => (await show(id)).state
      await expect.poll(state, { timeout: 25_000, interval: 200 }).toBe('succeeded')
      const untilFailed = async () =>
        (await system.db.select().from(loads).where(inArray(loads.orgId, ids))).map(
          ({ waitsFor, leaseUntil }) => leaseUntil === null && waitsFor,
        )
      await expect.poll(untilFailed, { timeout: 25_000 }).toEqual(ids.map(() => 'database'))
      // From now on they share one loop.
      await system.db.update(loads).set({ waitsUntil: null }).where(inArray(loads.orgId, ids))
      await notify(system.db, 'loads')
      const counts: number[] = []
      const hasOneFailed = async () => {
        counts.push(await waitingOfAll())
        const rows = await system.db.select().from(loads).where(inArray(loads.orgId, ids))
        return rows.some(({ waitsUntil }) => waitsUntil !== null)
      }
      // For as long as the first of them waits.
      await expect.poll(hasOneFailed, { timeout: 60_000, interval: 100 }).toBe(true)
      expect(Math.max(...counts)).toBe(1)
    } finally {
      await Promise.all(releases.map((release) => release()))
      await running.stop()
      await system.db.update(loads).set({ waitsUntil: null }).where(inArray(loads.orgId, ids))
    }
    await takeLoadSteps(system)
    for (const of of holding) {
      const [load] = await system.db.select().from(loads).where(eq(loads.orgId, of.id))
      expect(load).toMatchObject({ state: 'succeeded' })
    }
  }, 120_000)

  test('organizations that sleep in a trigger keep no other one waiting', async () => {
    const many = fileOf(...Array.from({ length: 1_001 }, (_, at) => `m${at}`))
    // What is left of it takes long, as theirs does. It waits until both sleep.
    const { id } = await startFile(org.owner.call, 'shop', many, { ...PLAN, table: table() })
    await takeUntil(system, id, 'indexing')
    await system.db
      .update(loads)
      .set({ waitsUntil: sql`now() + interval '1 hour'` })
      .where(isLoad(id))
    const sleeping = await Promise.all(Array.from({ length: 2 }, () => makeOrganization(system)))
    for (const of of sleeping) {
      await of.owner.call(createDatabase, { name: 'shop' })
      await loadFile(system, of.owner.call, 'shop', fileOf('a'), PLAN)
      await inDatabase(of, 'shop', (client) =>
        client.unsafe(`create function rest() returns trigger language plpgsql as $$
            begin perform pg_sleep(600); return null; end $$;
          create trigger rest after insert on shop execute function rest()`),
      )
    }
    for (const of of sleeping) await startFile(of.owner.call, 'shop', many, { ...PLAN, append: true })
    const asleep = async () =>
      (
        await onServer(
          managedDatabases(),
          `select pid from pg_stat_activity where application_name = 'svc load' and wait_event = 'PgSleep'`,
        )
      ).length
    const running = startLoads(system.system.gateway!)
    try {
      await expect.poll(asleep, { timeout: 60_000 }).toBe(2)
      await system.db.update(loads).set({ waitsUntil: null }).where(isLoad(id))
      await notify(system.db, 'loads')
      await expect.poll(async () => (await show(id)).state, { timeout: 60_000 }).toBe('succeeded')
      expect(await asleep()).toBe(2)
    } finally {
      await running.stop()
    }
    const ids = sleeping.map((of) => of.id)
    const isRunning = and(inArray(loads.orgId, ids), eq(loads.state, 'running'))
    expect(await system.db.select().from(loads).where(isRunning)).toHaveLength(2)
    for (const of of sleeping) {
      await inDatabase(of, 'shop', (client) => client.unsafe('drop function rest() cascade'))
    }
    await takeLoadSteps(system)
    expect(await system.db.select().from(loads).where(isRunning)).toEqual([])
  }, 240_000)

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
          `select tablename from pg_tables where schemaname = 'svc_loads' and starts_with(tablename, '${id}')`,
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

    describe('runs nothing of its own with our login', () => {
      /** Whatever calls `note` leaves the name of its login. */
      const HOSTILE = `
        create table public.ran (login text);
        create function public.note() returns boolean language plpgsql as $$ begin
          insert into public.ran values (current_user); return true; end $$;
        create function public.noted() returns trigger language plpgsql as $$ begin
          perform public.note(); return null; end $$;
        create function public.hashtextextended(text, integer) returns bigint language sql
          as $$ select public.note()::int::bigint $$;
        create function public.trap(name) returns void language plpgsql as $$ declare t record; begin
          for t in select oid::regclass as name from pg_class
            where relkind = 'r' and relnamespace = 'svc_loads'::regnamespace and relname ~ $1 loop
            execute format('create or replace trigger noted before insert or update or delete or truncate on %s execute function public.noted()', t.name);
            execute format('create or replace rule noted as on delete to %s do also select public.note()', t.name);
            execute format('alter table %s enable row level security, force row level security', t.name);
            execute format('drop policy if exists noted on %s', t.name);
            execute format('create policy noted on %s using (public.note())', t.name);
          end loop; end $$`
      const asTenant = (statement: string) => inDatabase(org, 'shop', (client) => client.unsafe(statement))
      const asOperator = async (statement: string) =>
        atAddress(databaseUrl(managedDatabases(), await physicalName()), (client) => client.unsafe(statement))
      beforeAll(async () => {
        await asTenant(HOSTILE)
      })
      afterAll(async () => {
        await asTenant(
          `drop function public.hashtextextended(text, integer), public.trap(name), public.noted() cascade;
            drop function public.note() cascade; drop table public.ran`,
        )
      })

      test('when what a load staged is removed', async () => {
        const { id } = await startFile(org.owner.call, 'shop', fileOf('a', 'b'), { ...PLAN, table: table() })
        await takeUntil(system, id, 'embedding')
        await asTenant(`select public.trap('.')`)
        await asTenant('truncate public.ran')
        await setOver(true)
        try {
          await takeLoadSteps(system)
          expect(await show(id)).toMatchObject({ state: 'failed' })
          expect(await stagedOf(id)).toEqual([])
          expect(await asOperator('select login from public.ran')).toEqual([])
        } finally {
          await setOver(false)
        }
      })

      test('when something else is in the place of what was staged, or depends on it', async () => {
        const { id } = await startFile(org.owner.call, 'shop', fileOf('a', 'b'), { ...PLAN, table: table() })
        await takeUntil(system, id, 'embedding')
        const [rows, content] = [`svc_loads."${id}_rows"`, `svc_loads."${id}_content"`]
        await asTenant(`drop table ${rows}; create view ${rows} as select public.note() as n;
          create rule noted as on delete to ${rows} do instead select public.note();
          create view public.kept as select * from ${content} where public.note();
          create materialized view svc_loads."${id}_finished" as select 1 as n;
          create table public.heir () inherits (svc_loads."${id}"); truncate public.ran`)
        await setOver(true)
        try {
          await takeLoadSteps(system)
          expect(await show(id)).toMatchObject({ state: 'failed' })
          expect(await stagedOf(id)).toEqual([])
          const [row] = await system.db.select().from(loads).where(isLoad(id))
          expect(row, 'it is not tried again').toMatchObject({ isStaged: false, waitsUntil: null })
          expect(await asOperator('select login from public.ran')).toEqual([])
        } finally {
          await setOver(false)
        }
      })

      test('when it is looked whether a table is in its place', async () => {
        const { id } = await startFile(org.owner.call, 'shop', fileOf('a', 'b'), { ...PLAN, table: table() })
        await takeUntil(system, id, 'finishing')
        await asTenant(`select public.trap('.')`)
        await asTenant('truncate public.ran')
        await setOver(true)
        try {
          await step()
          expect(await show(id)).toMatchObject({
            state: 'failed',
            failure: expect.stringMatching(/disk quota/),
          })
          await takeLoadSteps(system)
          expect(await stagedOf(id)).toEqual([])
          expect(await asOperator('select login from public.ran')).toEqual([])
        } finally {
          await setOver(false)
        }
      })

      test('which reads, and has no other names than those of the catalog', async () => {
        const { gateway } = system.system
        const [source] = await system.db.select().from(dataSources).where(eq(dataSources.orgId, org.id))
        const settings = `select current_setting('search_path') as path, current_setting('transaction_read_only') as "readOnly"`
        const ask = (queries: Queries) => queries.query(settings)
        const path = 'pg_catalog'
        expect(await readWithOwnLogin(gateway!, source!, ask)).toEqual([{ path, readOnly: 'on' }])
        expect(await writeWithOwnLogin(gateway!, source!, ask)).toEqual([{ path, readOnly: 'off' }])
      })
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
