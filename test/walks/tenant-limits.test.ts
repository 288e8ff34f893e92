/** Limits of tenants on a server: they hold whatever a login sets, and touch neither the neighbor's sessions nor ours. */
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import { createManagedDatabase, dropManagedDatabase, type Admin } from '../../db/managed/managed-database.ts'
import { dropStagedTable } from '../../db/managed/drop-staged-table.ts'
import { openManagedServer, type ManagedServer } from '../../db/managed/postgres-server.ts'
import { serverProvisioner } from '../../db/managed/server-provisioner.ts'
import { QUESTION_CONNECTIONS, questionRoleOf } from '../../db/managed/question-role.ts'
import { CANCEL_GRACE_SECONDS } from '../../db/managed/sessions-over-limits.ts'
import { attachedPools } from '../../db/managed/attached-thread.ts'
import { sourceConnections } from '../../db/managed/source-connections.ts'
import { endSession, endSessionsOverLimits } from '../../db/managed/tenant-sessions.ts'
import { scramVerifier } from '../../db/wire/scram.ts'
import { databaseUrl, onServer } from '../support/database.ts'

// An embedded database has one tenant, and no roles to limit.
const onPostgres = inject('engine') === 'postgres'
const PASSWORD = randomBytes(12).toString('hex')
const PREFIX = `limits_${randomBytes(4).toString('hex')}`
const MIB = 1024 * 1024
const NO_LIMITS = {
  statementSeconds: 1e6,
  idleTransactionSeconds: 1e6,
  temporaryFileBytes: 1e12,
  connections: 30,
  diskBytes: 1e12,
}
const NO_TIME = { transactionSeconds: 0, idleSeconds: 1e6 }

describe.skipIf(!onPostgres)('limits of tenants', () => {
  const [first, second, neighbor] = ['a1', 'a2', 'b1'].map((name) => `${PREFIX}_${name}`) as [
    string,
    string,
    string,
  ]
  const TENANTS = [
    { orgId: 'org_a', physicalName: first },
    { orgId: 'org_a', physicalName: second },
    { orgId: 'org_b', physicalName: neighbor },
  ]
  const clients: postgres.Sql[] = []
  let url = ''
  let server: ManagedServer
  let admin: Admin

  const open = (target: string) => {
    const sql = postgres(target, { max: 1, onnotice() {}, fetch_types: false, connect_timeout: 10 })
    clients.push(sql)
    return sql
  }
  const addressOf = (user: string, database: string, password = PASSWORD) => {
    const address = new URL(databaseUrl(url, database))
    ;[address.username, address.password] = [user, password]
    return address.href
  }
  /** A login whose session is there. */
  const session = async (user: string, database = user) => {
    const sql = open(addressOf(user, database))
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
    return { sql, pid: row!.pid }
  }
  const question = (name: string) => session(questionRoleOf(name), name)
  const isAlive = async (pid: number) =>
    (await onServer(url, `select 'x' as name from pg_stat_activity where pid = ${pid}`)).length > 0
  const isRunning = async (pid: number) =>
    (await onServer(url, `select 'x' as name from pg_stat_activity where pid = ${pid} and state = 'active'`))
      .length > 0
  /** Started, and not awaited; how it ended. */
  const begin = async ({ sql, pid }: { sql: postgres.Sql; pid: number }, text: string) => {
    const ending = sql.unsafe(text).then(
      () => 'done',
      (error: { code?: string }) => error.code ?? 'failed',
    )
    await expect.poll(() => isRunning(pid)).toBe(true)
    return { ending }
  }
  const enforce = (limits: Partial<typeof NO_LIMITS>, by = server) =>
    by.endSessionsOverLimits(TENANTS, { ...NO_LIMITS, ...limits })
  const SLEEP = 'select pg_sleep(20)'
  /** What waits in a database until it is let go: a sleep may be over before anybody has looked. */
  const held = async (database: string) => {
    const holder = open(databaseUrl(url, database))
    await holder`select pg_advisory_lock(1)`
    return { text: 'select pg_advisory_lock(1)', letGo: () => holder`select pg_advisory_unlock(1)` }
  }

  const adminAt = (target: string): Admin => ({
    sql: open(target),
    async inDatabase(name, work) {
      const own = postgres(databaseUrl(target, name), { max: 1, onnotice() {} })
      await work(own)
      await own.end()
    },
  })

  beforeAll(async () => {
    url = inject('postgres').url
    server = openManagedServer(url)
    admin = { ...adminAt(url), sql: postgres(url, { max: 1, onnotice() {} }) }
    for (const { physicalName } of TENANTS) {
      await createManagedDatabase(admin, physicalName, scramVerifier(PASSWORD), { withVector: false })
      await Promise.all([1, 2].map(() => server.createQuestionRole(physicalName, scramVerifier(PASSWORD))))
    }
  })
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((sql) => sql.end({ timeout: 1 })))
  })
  afterAll(async () => {
    for (const { physicalName } of TENANTS) await dropManagedDatabase(admin, physicalName)
    await admin.sql.end()
    await server.close()
  })

  test('a long statement is cancelled whatever its login set; neighbors, questions and others go on', async () => {
    const tenant = await session(first)
    await tenant.sql.unsafe('set statement_timeout = 0')
    const ours = await question(first)
    const others = await session(neighbor)
    const operator = open(url)
    const { ending } = await begin(tenant, SLEEP)
    const { text, letGo } = await held(first)
    const { ending: ourEnding } = await begin(ours, text)
    expect(await enforce({ statementSeconds: 0 })).toEqual([{ physicalName: first, limit: 'statement' }])
    expect(await ending).toBe('57014')
    expect(await tenant.sql`select 1 as same`, 'its session goes on').toEqual([{ same: 1 }])
    await letGo()
    expect(await ourEnding).toBe('done')
    expect(await others.sql`select 1 as fine`).toEqual([{ fine: 1 }])
    expect(await operator`select 1 as fine`).toEqual([{ fine: 1 }])
    expect(await isAlive(others.pid)).toBe(true)
  })

  test('one that catches its cancellation loses its session', async () => {
    const tenant = await session(first)
    const stubborn = `do $$ begin loop begin perform pg_sleep(20); exception when query_canceled then null; end; end loop; end $$`
    const { ending } = await begin(tenant, stubborn)
    await enforce({ statementSeconds: 0 })
    expect(await isRunning(tenant.pid)).toBe(true)
    await enforce({ statementSeconds: -CANCEL_GRACE_SECONDS })
    expect(await ending).not.toBe('done')
    await expect.poll(() => isAlive(tenant.pid)).toBe(false)
  })

  test('what is no longer what was looked at is left alone', async () => {
    const tenant = await session(first)
    const { text, letGo } = await held(first)
    const { ending } = await begin(tenant, text)
    const seen = {
      pid: tenant.pid,
      login: first,
      query: '',
      backendStart: '2026-01-01 00:00:00.000000',
      queryStart: '2026-01-01 00:00:00.000000',
      state: 'active',
      runningSeconds: 1e6,
      idleSeconds: 1e6,
      transactionSeconds: null,
      isWriting: false,
      temporaryFileBytes: 0,
    }
    const [now] = await admin.sql<{ start: string; login: string }[]>`
      select to_char(backend_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as start, usename as login
      from pg_stat_activity where pid = ${tenant.pid}`
    const another = { ...seen, backendStart: now!.start }
    expect(await endSession(admin.sql, { session: seen, how: 'terminate' }), 'another session').toBe(false)
    expect(await endSession(admin.sql, { session: another, how: 'cancel' }), 'another statement').toBe(false)
    const ofNeighbor = { ...another, login: neighbor }
    expect(await endSession(admin.sql, { session: ofNeighbor, how: 'terminate' }), 'of another').toBe(false)
    await letGo()
    expect(await ending).toBe('done')
    expect(await endSession(admin.sql, { session: another, how: 'terminate' })).toBe(true)
  })

  test('a transaction that is idle is ended, an idle session is not, and of two workers each does it once', async () => {
    const tenant = await session(first)
    await tenant.sql.unsafe('set idle_in_transaction_session_timeout = 0')
    await tenant.sql.unsafe('begin')
    const others = await session(neighbor)
    const ours = await question(first)
    await ours.sql.unsafe('begin')
    const second = openManagedServer(url)
    await expect
      .poll(async () =>
        (
          await onServer(
            url,
            `select state as name from pg_stat_activity where pid in (${tenant.pid}, ${ours.pid})`,
          )
        ).map(({ name }) => name),
      )
      .toEqual(['idle in transaction', 'idle in transaction'])
    const ended = await Promise.all([server, second].map((by) => enforce({ idleTransactionSeconds: 0 }, by)))
    await second.close()
    expect(ended.flat().length).toBeGreaterThan(0)
    await expect.poll(() => isAlive(tenant.pid)).toBe(false)
    expect(await isAlive(others.pid)).toBe(true)
    expect(await isAlive(ours.pid)).toBe(true)
    expect(await enforce({ idleTransactionSeconds: 0 }), 'nothing is left to end').toEqual([])
  })

  test('temporary files are limited by the server, and a session that has more than that is ended', async () => {
    const spill = `set work_mem = '64kB'; begin;
      declare kept cursor with hold for select repeat('x', 1000) from generate_series(1, 20000); commit`
    const tenant = await session(first)
    const others = await session(neighbor)
    await others.sql.unsafe(spill.replace('20000', '200'))
    await tenant.sql.unsafe(spill)
    expect(await enforce({ temporaryFileBytes: 2 * MIB })).toEqual([
      { physicalName: first, limit: 'temporary_files' },
    ])
    await expect.poll(() => isAlive(tenant.pid)).toBe(false)
    expect(await isAlive(others.pid)).toBe(true)
    const later = await session(first)
    await expect(later.sql.unsafe(spill)).rejects.toMatchObject({ code: '53400' })
    for (const text of ['set temp_file_limit = -1', `alter role ${first} set temp_file_limit = -1`]) {
      await expect(later.sql.unsafe(`rollback; ${text}`)).rejects.toMatchObject({ code: '42501' })
    }
    await later.sql.unsafe(`alter role ${first} reset all`).catch(() => {})
    const again = await session(first)
    await expect(again.sql.unsafe(spill), 'also after a reset of all').rejects.toMatchObject({
      code: '53400',
    })
    await enforce({})
  })

  test('an organization has so many connections over all its databases; the newest go', async () => {
    const kept = [await session(first), await session(second)]
    const [late, ours] = [await session(second), await question(second)]
    const others = [await session(neighbor), await session(neighbor)]
    expect(await enforce({ connections: 2 })).toEqual([{ physicalName: second, limit: 'connections' }])
    await expect.poll(() => isAlive(late.pid)).toBe(false)
    for (const { pid } of [...kept, ours, ...others]) expect(await isAlive(pid)).toBe(true)
    await expect(session(neighbor), 'the server itself keeps to it').rejects.toMatchObject({ code: '53300' })
    await enforce({})
    await expect(session(neighbor)).resolves.toBeDefined()
  })

  test('who may not connect has no sessions; our questions and the neighbor go on, until it may again', async () => {
    const tenant = await session(first)
    await tenant.sql.unsafe('create table notes as select 42 as n')
    const [ours, others] = [await question(first), await session(neighbor)]
    const refused = { allowed: [neighbor], refused: [first, second] }
    await server.setConnectRights(refused)
    await expect.poll(() => isAlive(tenant.pid)).toBe(false)
    await expect(session(first)).rejects.toMatchObject({ code: '42501' })
    await expect(session(second)).rejects.toMatchObject({ code: '42501' })
    await server.setConnectRights(refused)
    expect(await ours.sql`select n from notes`).toEqual([{ n: 42 }])
    const more = await question(first)
    expect(await more.sql`select n from notes`).toEqual([{ n: 42 }])
    for (const { pid } of [ours, others]) expect(await isAlive(pid)).toBe(true)
    await expect(session(neighbor)).resolves.toBeDefined()
    await server.setConnectRights({ allowed: [first, second, neighbor], refused: [] })
    await expect(session(first)).resolves.toBeDefined()
    const sizes = await server.readDatabaseSizes([first, neighbor, 'nowhere'])
    expect([...sizes.keys()].toSorted()).toEqual([first, neighbor])
    expect(sizes.get(first)).toBeGreaterThan(MIB)
  })

  test('the login of our questions reads its own database and reaches no other', async () => {
    await server.revokePublicConnect()
    const ours = await question(first)
    await ours.sql.unsafe('begin read only')
    for (const database of [neighbor, second, 'postgres', 'template1']) {
      await expect(session(questionRoleOf(first), database)).rejects.toMatchObject({ code: '42501' })
    }
  })

  test('what the login of our questions changed of itself is ours again at the next question', async () => {
    const role = questionRoleOf(first)
    const ours = await question(first)
    await ours.sql.unsafe(`alter role ${role} password 'stolen'`)
    await ours.sql.unsafe(`alter role ${role} set search_path = pg_temp`)
    await ours.sql.unsafe(`alter role ${role} in database ${first} set work_mem = '1GB'`)
    await server.createQuestionRole(first, scramVerifier(PASSWORD))
    const stolen = open(addressOf(role, first, 'stolen'))
    await expect(stolen`select 1`).rejects.toMatchObject({ code: '28P01' })
    await expect(question(first)).resolves.toBeDefined()
    const [now] = await admin.sql`
      select rolconnlimit as connections, rolvaliduntil < now() + interval '25 hours' as expires,
        (select count(*)::int from pg_db_role_setting s cross join unnest(s.setconfig) one
          where s.setrole = r.oid and not starts_with(one, 'temp_file_limit=')) as settings
      from pg_roles r where rolname = ${role}`
    expect(now).toEqual({ connections: QUESTION_CONNECTIONS, expires: true, settings: 0 })
  })

  test('a question is answered although its login was changed while the pool was open', async () => {
    const role = questionRoleOf(first)
    const { hostname, port } = new URL(url)
    const login = async () => {
      await server.createQuestionRole(first, scramVerifier(PASSWORD))
      const address = { host: hostname, port: Number(port), ssl: 'disable' as const }
      return { ...address, user: role, database: first, password: PASSWORD }
    }
    const connections = sourceConnections(attachedPools([]))
    const queries = connections.open('key', 'postgres', 'org_a', login)
    try {
      expect(await queries.query('select 1 as one')).toHaveLength(1)
      const pids = await admin.sql`
        select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`
      expect(pids).toHaveLength(1)
      await admin.sql.unsafe(`alter role ${role} password 'stolen'`)
      await expect.poll(() => queries.query('select 1 as one').catch(() => [])).toHaveLength(1)
    } finally {
      await connections.close()
    }
  })

  test('sessions of our questions that last, idle or write are ended, and no others', async () => {
    const [long, idle, others] = [await question(first), await question(second), await session(neighbor)]
    await long.sql.unsafe('begin')
    const ended = () =>
      endSessionsOverLimits(admin.sql, TENANTS, NO_LIMITS, { ...NO_TIME, droppingSeconds: 0 })
    await expect.poll(ended).toEqual([{ physicalName: first, limit: 'statement' }])
    expect(await isAlive(idle.pid)).toBe(true)
    const writing = await question(first)
    await writing.sql.unsafe('begin; create table stolen (n int)')
    expect(await enforce({})).toEqual([{ physicalName: first, limit: 'disk' }])
    await expect.poll(() => isAlive(writing.pid)).toBe(false)
    for (const { pid } of [idle, others]) expect(await isAlive(pid)).toBe(true)
  })

  test('a session of ours that drops what a load staged has its time, also while it waits for a lock', async () => {
    const tenant = await session(first)
    await tenant.sql.unsafe('create schema svc_loads; create table svc_loads.lod_1_rows (n int)')
    await tenant.sql.unsafe('begin; lock table svc_loads.lod_1_rows in access share mode')
    const ours = await question(first)
    const { ending } = await begin(ours, dropStagedTable('lod_1', 'lod_1_rows'))
    const ended = (droppingSeconds: number) =>
      endSessionsOverLimits(admin.sql, TENANTS, NO_LIMITS, { ...NO_TIME, droppingSeconds })
    expect(await ended(60)).toEqual([])
    expect(await ended(0)).toEqual([{ physicalName: first, limit: 'statement' }])
    expect(await ending).not.toBe('done')
    const again = await question(first)
    const { ending: dropped } = await begin(again, dropStagedTable('lod_1', 'lod_1_rows'))
    await tenant.sql.unsafe('rollback')
    expect(await dropped).toBe('done')
    await tenant.sql.unsafe('drop schema svc_loads')
  })

  test('a removed database takes the login of our questions with it', async () => {
    const name = `${PREFIX}_removed`
    await createManagedDatabase(admin, name, scramVerifier(PASSWORD), { withVector: false })
    await server.createQuestionRole(name, scramVerifier(PASSWORD))
    const rolesOf = () =>
      onServer(url, `select rolname as name from pg_roles where starts_with(rolname, '${name}')`)
    expect(await rolesOf()).toHaveLength(2)
    await dropManagedDatabase(admin, name)
    expect(await rolesOf()).toEqual([])
  })

  test('a database is removed although a neighbor grants rights to its logins, which stay without a login', async () => {
    const name = `${PREFIX}_granted`
    const logins = [questionRoleOf(name), name]
    await createManagedDatabase(admin, name, scramVerifier(PASSWORD), { withVector: false })
    await server.createQuestionRole(name, scramVerifier(PASSWORD))
    const others = await session(neighbor)
    for (const login of logins) await others.sql.unsafe(`grant usage on schema public to ${login}`)
    const warnings: unknown[] = []
    const provisioner = serverProvisioner(server, new Uint8Array(32), (_event, fields) =>
      warnings.push(fields),
    )
    await provisioner.remove(name)
    expect(warnings).toEqual([{ roles: logins }])
    const leftBehind = await admin.sql`
      select rolname as name, rolcanlogin as login, rolconnlimit as connections, rolpassword as password
      from pg_authid where starts_with(rolname, ${name}) order by rolname`
    expect(leftBehind.map((row) => ({ ...row }))).toEqual(
      logins.toSorted().map((login) => ({ name: login, login: false, connections: 0, password: null })),
    )
    for (const login of logins) await others.sql.unsafe(`revoke usage on schema public from ${login}`)
    await provisioner.remove(name)
    expect(warnings, 'without the rights nothing stays').toHaveLength(1)
    expect(await admin.sql`select from pg_roles where starts_with(rolname, ${name})`).toHaveLength(0)
  })

  test('a login that is no superuser enforces what it may, and says what it may not', async () => {
    expect(await server.unenforcedLimits([first, second])).toEqual([])
    const manager = `${PREFIX}_manager`
    const own = `${PREFIX}_own`
    await onServer(url, `create role ${manager} login createdb createrole password '${PASSWORD}'`)
    await onServer(url, `grant connect on database postgres to ${manager}`)
    const restricted = openManagedServer(addressOf(manager, 'postgres'))
    const its = adminAt(addressOf(manager, 'postgres'))
    try {
      await createManagedDatabase(its, own, scramVerifier(PASSWORD), { withVector: false })
      expect(await restricted.unenforcedLimits([own])).toEqual(['temporary_files'])
      const tenant = await session(own)
      await tenant.sql.unsafe('begin')
      await expect
        .poll(() =>
          restricted.endSessionsOverLimits([{ orgId: 'org_m', physicalName: own }], {
            ...NO_LIMITS,
            idleTransactionSeconds: 0,
          }),
        )
        .toEqual([{ physicalName: own, limit: 'idle_transaction' }])
      await Promise.all([1, 2].map(() => restricted.createQuestionRole(own, scramVerifier(PASSWORD))))
      const ours = await question(own)
      await ours.sql.unsafe('begin; create table stolen (n int)')
      expect(
        await restricted.endSessionsOverLimits([{ orgId: 'org_m', physicalName: own }], NO_LIMITS),
        'also of the login of our questions',
      ).toEqual([{ physicalName: own, limit: 'disk' }])
      await restricted.setConnectRights({ allowed: [], refused: [own] })
      await expect(session(own)).rejects.toMatchObject({ code: '42501' })
      expect(await restricted.unenforcedLimits([own, first])).toEqual([
        'statement',
        'idle_transaction',
        'connections',
        'temporary_files',
        'disk',
      ])
      // What it may not do hinders nothing of what it may.
      await restricted.setConnectRights({ allowed: [own], refused: [first] })
      await expect(session(own)).resolves.toBeDefined()
      await expect(session(first)).resolves.toBeDefined()
      await onServer(url, `grant pg_monitor to ${manager}`)
      // It sees temporary files now, but not those in the folders of a parallel hash join.
      expect(await restricted.unenforcedLimits([own])).toEqual(['temporary_files'])
      await onServer(url, `grant set on parameter temp_file_limit to ${manager}`)
      expect(await restricted.unenforcedLimits([own])).toEqual([])
    } finally {
      await dropManagedDatabase(its, own)
      await restricted.close()
      await its.sql.end()
      await onServer(url, `drop owned by ${manager}; drop role ${manager}`)
    }
  })
})
