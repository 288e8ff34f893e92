/** The disk quota of an organization's managed databases on a server: told once, kept apart from the neighbor's. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eq, inArray } from '../../db/drizzle.ts'
import { openManagedServer, type ManagedServer } from '../../db/managed/postgres-server.ts'
import { dataSourceHealth, dataSources, diskUse, events } from '../../db/schema.ts'
import { queryDataSource, showDataSource } from '../../src/contracts/data-sources.ts'
import { createDatabase, removeDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import type { TenantLimits } from '../../src/contracts/tenant-limits.ts'
import { checkDiskQuotas, enforceTenantLimits, type TenantServer } from '../../src/cores/databases/index.ts'
import { createDatabase as createManaged } from '../../src/cores/databases/create-database.ts'
import {
  configurationOf,
  entry,
  inDatabase,
  insertSource,
  makeSource,
  managedDatabases,
  startWithDatabases,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { testDatabase } from '../support/database.ts'
import { drainNotifications } from '../support/drain.ts'
import { makeOrganization, type Org } from '../support/make.ts'
import {
  notificationHarness,
  type HarnessOrg,
  type NotificationHarness,
} from '../support/notification-harness.ts'
import postgres from 'postgres'

const MIB = 1024 * 1024
const LIMITS: TenantLimits = {
  statementSeconds: 1e6,
  idleTransactionSeconds: 1e6,
  temporaryFileBytes: 1e12,
  connections: 30,
  diskBytes: 100 * MIB,
}

describe('a disk quota', () => {
  let harness: NotificationHarness
  let db: Awaited<ReturnType<typeof testDatabase>>['db']
  const made: string[] = []

  beforeAll(async () => {
    ;({ db } = await testDatabase())
    harness = await notificationHarness({ db })
  })
  afterAll(async () => {
    if (made.length > 0) await db.delete(dataSources).where(inArray(dataSources.physicalName, made))
  })

  /** A database of so many MiB on a server that only remembers. */
  const sizes = new Map<string, number>()
  const refused = new Set<string>()
  const ended: string[] = []
  let unenforced: Awaited<ReturnType<TenantServer['unenforcedLimits']>> = []
  const server: TenantServer = {
    endSessionsOverLimits: async (tenants) =>
      tenants.map(({ physicalName }) => ({ physicalName, limit: 'statement' })),
    readDatabaseSizes: async () => sizes,
    async setConnectRights(rights) {
      for (const name of rights.allowed) refused.delete(name)
      for (const name of rights.refused) refused.add(name)
      ended.push(...rights.refused)
    },
    unenforcedLimits: async () => unenforced,
  }
  const check = () => checkDiskQuotas({ ...harness.deps, tenantServer: server, tenantLimits: LIMITS })

  async function database(org: HarnessOrg, mib: number, more: object = {}) {
    const name = `quota_${org.id.slice(-8)}_${made.length}`
    made.push(name)
    sizes.set(name, mib * MIB)
    const clock = { now: harness.deps.clock, advance() {} }
    const { id } = await insertSource({ db, clock }, org as never, {
      kind: 'postgres',
      physicalName: name,
      ...more,
    })
    return { id, name }
  }
  const eventsOf = async (org: HarnessOrg) => {
    await drainNotifications(harness.deps)
    const rows = await db.select().from(events).where(eq(events.orgId, org.id))
    return rows.toSorted((a, b) => a.seq - b.seq).map(({ type, data }) => [type, data])
  }
  const mailsTo = (org: HarnessOrg) => harness.sent.filter(({ to }) => to === org.owner.email)

  test('is told to the owner once, whoever looks; the neighbor and databases that are not ready are left alone', async () => {
    const [org, other] = [await harness.organization(), await harness.organization()]
    const [first, second] = [await database(org, 60), await database(org, 50)]
    const neighbor = await database(other, 90)
    const preparing = await database(org, 1, { preparingUntil: new Date('2099-01-01') })
    await Promise.all([check(), check(), check()])
    expect([first, second, neighbor, preparing].map(({ name }) => refused.has(name))).toEqual([
      true,
      true,
      false,
      false,
    ])
    expect(ended).not.toContain(neighbor.name)
    // Nor does it gain space with another database, whose login may connect.
    const created: string[] = []
    const managed = { kind: 'postgres', create: async (name: string) => void created.push(name) }
    const create = ({ id, owner }: HarnessOrg) =>
      createManaged({ ...harness.deps, managed } as never)(
        { kind: 'user', orgId: id, userId: owner.userId, role: 'owner' } as never,
        { name: 'more' },
      )
    await expect(create(org)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(created).toEqual([])
    await check()
    expect(await eventsOf(org)).toEqual([['org.disk_quota.exceeded', { used_mib: '110', quota_mib: '100' }]])
    expect(await eventsOf(other)).toEqual([])
    expect(mailsTo(org)).toHaveLength(1)
    expect(mailsTo(org)[0]?.what).toContain('over their disk quota')
    expect(mailsTo(other)).toEqual([])
  })

  test('is over until it is well below, and told again the next time', async () => {
    const [org, other] = [await harness.organization(), await harness.organization()]
    const [own, neighbor] = [await database(org, 101), await database(other, 101)]
    await check()
    expect(refused.has(own.name)).toBe(true)
    sizes.set(own.name, 91 * MIB)
    await check()
    expect(refused.has(own.name), 'not at the first row it deletes').toBe(true)
    sizes.set(own.name, 90 * MIB)
    await Promise.all([check(), check()])
    expect(refused.has(own.name)).toBe(false)
    expect(refused.has(neighbor.name), 'the neighbor is over its own').toBe(true)
    sizes.set(own.name, 95 * MIB)
    await check()
    expect(refused.has(own.name), 'below the quota').toBe(false)
    sizes.set(own.name, 102 * MIB)
    await Promise.all(Array.from({ length: 6 }, check))
    expect((await eventsOf(org)).map(([type]) => type)).toEqual([
      'org.disk_quota.exceeded',
      'org.disk_quota.recovered',
      'org.disk_quota.exceeded',
    ])
    expect(await eventsOf(other)).toHaveLength(1)
  })

  test('of an organization without databases is not used', async () => {
    const org = await harness.organization()
    const { name } = await database(org, 500)
    await check()
    await db.delete(dataSources).where(eq(dataSources.physicalName, name))
    await check()
    expect((await eventsOf(org)).map(([type]) => type)).toEqual([
      'org.disk_quota.exceeded',
      'org.disk_quota.recovered',
    ])
  })

  test('an event that cannot be written leaves the organization as it was, and the server too', async () => {
    // Alone, so that the first change of the look is this one.
    await db.delete(dataSources).where(inArray(dataSources.physicalName, made))
    await check()
    const org = await harness.organization()
    const { name } = await database(org, 500)
    const { clock } = harness.deps
    let calls = 0
    /** The second reading is that of the event. */
    const failing = () => {
      calls += 1
      if (calls > 1) throw new Error('no clock')
      return clock()
    }
    const only: TenantServer = { ...server, readDatabaseSizes: async () => new Map([[name, 500 * MIB]]) }
    await expect(
      checkDiskQuotas({ ...harness.deps, clock: failing, tenantServer: only, tenantLimits: LIMITS }),
    ).rejects.toThrow('no clock')
    expect(refused.has(name)).toBe(false)
    expect(await db.select().from(diskUse).where(eq(diskUse.orgId, org.id))).toEqual([])
    await check()
    expect(refused.has(name)).toBe(true)
    expect(await eventsOf(org)).toHaveLength(1)
  })

  test('what the server does not let us enforce is part of the health of its sources, and goes with the reason', async () => {
    const [org, other] = [await harness.organization(), await harness.organization()]
    const [own, neighbor] = [await database(org, 500), await database(other, 1)]
    const kindsOf = async ({ id }: { id: string }) =>
      (await db.select().from(dataSourceHealth).where(eq(dataSourceHealth.sourceId, id))).map(
        ({ serverProblems }) => serverProblems.map(({ kind, text }) => `${kind}: ${text.split(':')[0]}`),
      )
    unenforced = ['temporary_files']
    await check()
    const missing = 'limit_not_enforced: Our login on the server may not enforce the size of temporary files'
    expect(await kindsOf(own)).toEqual([[expect.stringContaining('over_disk_quota'), missing]])
    expect(await kindsOf(neighbor)).toEqual([[missing]])
    unenforced = []
    sizes.set(own.name, 1)
    await check()
    expect([await kindsOf(own), await kindsOf(neighbor)]).toEqual([[[]], [[]]])
  })

  test('sessions that were ended are in the log, and nothing is done where databases are embedded', async () => {
    const org = await harness.organization()
    const { name } = await database(org, 500)
    const before = refused.size
    const embedded = { ...harness.deps, tenantServer: undefined, tenantLimits: LIMITS }
    await checkDiskQuotas(embedded)
    await enforceTenantLimits(embedded)
    expect(refused.size).toBe(before)
    await enforceTenantLimits({ ...harness.deps, tenantServer: server, tenantLimits: LIMITS })
    expect(harness.warnings).toContainEqual({
      event: 'a session of a managed database was over a limit and was ended',
      fields: { database: name, limit: 'statement' },
    })
  })
})

// The server of npm has no pgvector.
const hasServer = inject('engine') === 'postgres' && managedDatabases() !== 'embedded'

describe.skipIf(!hasServer)('a disk quota on a server with pgvector (TEST_PGVECTOR_URL)', () => {
  let system: SystemWithDatabases
  let server: ManagedServer
  let org: Org
  let other: Org
  const SQL = `create table notes (id text primary key, title text, embedding vector(3));
    insert into notes values ('1', 'one', '[1,0,0]')`
  const FILL = `create table bulk as select repeat(md5(i::text), 30) as t from generate_series(1, 30000) i`

  beforeAll(async () => {
    system = await startWithDatabases()
    server = openManagedServer(managedDatabases())
    ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
    const configuration = configurationOf([entry('notes')])
    await makeSource(org, { name: 'main', sql: `${SQL}; ${FILL}`, configuration })
    await makeSource(org, { name: 'spare', sql: FILL })
    await makeSource(other, { name: 'main', sql: SQL, configuration })
  })
  afterAll(async () => {
    await server.close()
    await system.stop()
  })

  const ask = async (who: Org) =>
    (await who.owner.call(queryDataSource, { source_id: 'db_main', query: '[1,0,0]' })).results.length
  const connects = (who: Org) => inDatabase(who, 'main', (sql) => sql`select 1 as one`)
  const problemsOf = async (who: Org) =>
    (await who.owner.call(showDataSource, { source_id: 'db_main' })).health.problems.map(({ kind }) => kind)

  test('a session that is over a limit is ended, and its login limited by the server; the neighbor goes on', async () => {
    const [row] = await system.db.select().from(dataSources).where(eq(dataSources.orgId, org.id))
    const { name, physicalName } = row!
    const open = async (who: Org, database: string) => {
      const { url } = await who.owner.call(showConnectionString, { name: database })
      const sql = postgres(url, { max: 1, onnotice() {} })
      /** Another one once the session was ended, and none where the server takes no more. */
      const session = () =>
        sql.unsafe('select pg_backend_pid() as pid').then(
          ([found]) => found!['pid'] as number,
          () => undefined,
        )
      await sql.unsafe('begin')
      return { sql, session, pid: await session() }
    }
    const enforce = (limits: Partial<TenantLimits>) =>
      server.endSessionsOverLimits([{ orgId: org.id, physicalName: physicalName! }], { ...LIMITS, ...limits })
    const [kept, late, theirs] = [await open(org, name), await open(org, name), await open(other, 'main')]
    try {
      expect(await enforce({ connections: 1, temporaryFileBytes: MIB })).toEqual([
        { physicalName, limit: 'connections' },
      ])
      expect([await kept.session(), await late.session()]).toEqual([kept.pid, undefined])
      const limits = `select rolconnlimit as connections, rolconfig as settings from pg_roles where rolname = current_user`
      expect(await kept.sql.unsafe(limits)).toMatchObject([
        { connections: 1, settings: expect.arrayContaining(['temp_file_limit=1024kB']) },
      ])
      await expect
        .poll(() => enforce({ idleTransactionSeconds: 0 }))
        .toEqual([{ physicalName, limit: 'idle_transaction' }])
      expect(await kept.session()).not.toBe(kept.pid)
      expect(await theirs.session()).toBe(theirs.pid)
      expect(await enforce({})).toEqual([])
    } finally {
      await Promise.all([kept, late, theirs].map(({ sql }) => sql.end({ timeout: 1 })))
    }
  })

  test('logins may not connect, questions are answered, and removing a database makes room', async () => {
    const log = { warn() {} }
    const deps = { db: system.db, clock: () => system.clock.now(), log, tenantServer: server }
    // The neighbor's database is some 30 MiB smaller than the two of the organization.
    const check = (diskBytes: number) => checkDiskQuotas({ ...deps, tenantLimits: { ...LIMITS, diskBytes } })
    const [row] = await system.db.select().from(dataSources).where(eq(dataSources.orgId, other.id))
    const size = (await server.readDatabaseSizes([row!.physicalName!])).get(row!.physicalName!)!
    const quota = size + 45 * MIB
    const { url } = await other.owner.call(showConnectionString, { name: 'main' })
    const open = postgres(url, { max: 1, onnotice() {} })
    const [pid] = await open`select pg_backend_pid() as pid`
    expect([await ask(org), await ask(other)]).toEqual([1, 1])

    await check(quota)
    await expect(connects(org)).rejects.toMatchObject({ code: '42501' })
    expect([await ask(org), await ask(other)]).toEqual([1, 1])
    expect(await problemsOf(org)).toContain('over_disk_quota')
    expect(await problemsOf(other)).not.toContain('over_disk_quota')
    await expect(connects(other)).resolves.toBeDefined()
    expect(await open`select pg_backend_pid() as pid`, 'its session was not touched').toEqual([pid])

    const more = { name: 'more' }
    await expect(org.owner.call(createDatabase, more)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('disk quota'),
    })
    await expect(other.owner.call(createDatabase, more)).resolves.toBeDefined()
    await other.owner.call(removeDatabase, { ...more, confirm: 'more' })

    await org.owner.call(removeDatabase, { name: 'spare', confirm: 'spare' })
    await check(quota)
    await expect(org.owner.call(createDatabase, more)).resolves.toBeDefined()
    await expect(connects(org)).resolves.toBeDefined()
    expect(await problemsOf(org)).not.toContain('over_disk_quota')
    await open.end()
  })
})
