/** Managed databases: made, reached with the string that is shown, attached, removed; each apart from every other. */
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { and, eq, sql } from '../../db/drizzle.ts'
import { dataSources } from '../../db/schema.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import {
  updateDataSource,
  listDataSources,
  queryDataSource,
  saveSearchConfiguration,
  setDataSourceState,
  setDataSourceExposure,
  showDataSource,
} from '../../src/contracts/data-sources.ts'
import {
  attachDatabase,
  createDatabase,
  removeDatabase,
  showConnectionString,
} from '../../src/contracts/databases.ts'
import { DATABASES_MAX } from '../../src/contracts/limits.ts'
import { createDatabase as createManaged } from '../../src/cores/databases/create-database.ts'
import type { DatabaseDeps } from '../../src/cores/databases/index.ts'
import type { MemberPrincipal } from '../../src/cores/principal.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { actorOf, signActor } from '../support/actor.ts'
import {
  atAddress,
  configurationOf,
  entry,
  inDatabase,
  insertSource,
  managedDatabases,
  startWithDatabases,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { makeApiToken, makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'

let system: SystemWithDatabases
let org: Org
let other: Org
let developer: Person

beforeAll(async () => {
  system = await startWithDatabases({ ATTACH_ALLOWED: '127.0.0.1' })
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  developer = await makeMember(system, org, 'developer')
})

afterAll(() => system.stop())

const kind = () => (managedDatabases() === 'embedded' ? 'embedded' : 'postgres')

describe('making one', () => {
  test('gives a database that nobody can ask yet', async () => {
    const made = await developer.call(createDatabase, {
      name: 'crm',
      title: 'The CRM',
      description: 'People.',
    })
    expect(made).toEqual({
      id: expect.stringMatching(/^ds_/) as string,
      source_id: 'db_crm',
      name: 'The CRM',
      description: 'People.',
      kind: kind(),
      ready: true,
      enabled: false,
      exposed: false,
      minimum_role: 'viewer',
      connection_config: null,
      filter_schema: {},
      configured_at: null,
      documents: false,
      access_column: null,
      created_at: expect.any(String) as string,
    })
    for (const source_id of [made.id, 'db_crm']) {
      expect(await developer.call(showDataSource, { source_id })).toMatchObject(made)
    }
    expect((await developer.call(listDataSources, {})).data_sources).toMatchObject([made])
    await expect(org.owner.call(queryDataSource, { source_id: 'db_crm', query: 'x' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  test('a name is given once in an organization, also to ten who ask at the same time', async () => {
    await expect(developer.call(createDatabase, { name: 'crm' })).rejects.toMatchObject({ code: 'CONFLICT' })
    // The same name in another organization is another database.
    const attempts = await Promise.allSettled(
      Array.from({ length: 10 }, () => other.owner.call(createDatabase, { name: 'crm' })),
    )
    expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const attempt of attempts) {
      if (attempt.status === 'rejected') expect(attempt.reason).toMatchObject({ code: 'CONFLICT' })
    }
  })

  test.each([
    '',
    'Upper',
    '1st',
    '_x',
    'a-b',
    'a b',
    'a.b',
    'ä',
    'a;drop',
    `a"b`,
    "a'b",
    'a\n',
    '../x',
    'x'.repeat(42),
  ])('no database is named %j', async (name) => {
    await expect(developer.call(createDatabase, { name })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  })

  test('an organization has room for two hundred', async () => {
    const full = await makeOrganization(system)
    for (let n = 0; n < DATABASES_MAX; n++) await insertSource(system, full, { name: `row_${n}` })
    await expect(full.owner.call(createDatabase, { name: 'more' })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
  })

  test('one that is being made is not touched; one whose maker died is finished by whoever asks again', async () => {
    const mine = and(eq(dataSources.orgId, org.id), eq(dataSources.name, 'crm'))
    const preparing = (seconds: number) =>
      system.db
        .update(dataSources)
        .set({ preparingUntil: sql`clock_timestamp() + make_interval(secs => ${seconds})` })
        .where(mine)
    await preparing(60)
    expect((await developer.call(showDataSource, { source_id: 'db_crm' })).ready).toBe(false)
    const conflict = { code: 'CONFLICT' }
    await expect(developer.call(createDatabase, { name: 'crm' })).rejects.toMatchObject(conflict)
    await expect(developer.call(showConnectionString, { name: 'crm' })).rejects.toMatchObject(conflict)
    const on = { source_id: 'db_crm', enabled: true }
    await expect(org.owner.call(setDataSourceState, on)).rejects.toMatchObject(conflict)
    await preparing(-1)
    expect((await developer.call(createDatabase, { name: 'crm' })).ready).toBe(true)
  })

  const removed: string[] = []
  const begin = (of: Org, name: string, create: () => Promise<void>) =>
    createManaged({
      db: system.db,
      clock: () => system.clock.now(),
      dataKeys: dataKeys(randomBytes(32).toString('hex')),
      managed: { kind: kind(), create, remove: async (gone: string) => void removed.push(gone) },
    } as unknown as DatabaseDeps)(
      { kind: 'user', orgId: of.id, userId: developer.userId, userName: 'Dev' } as MemberPrincipal,
      { name },
    )
  const isNamed = (of: Org, name: string) => and(eq(dataSources.orgId, of.id), eq(dataSources.name, name))
  /** Whoever makes it was not heard from. */
  const endLease = (of: Org, name: string) =>
    system.db
      .update(dataSources)
      .set({ preparingUntil: new Date(0) })
      .where(isNamed(of, name))

  test('one that was begun by two is removed by neither that fails late', async () => {
    const fails = async () => Promise.reject(new Error('the server went away'))
    const first = begin(org, 'late', async () => {
      await endLease(org, 'late')
      await begin(org, 'late', async () => {})
      await fails()
    })
    await expect(first).rejects.toThrow('went away')
    expect(removed).toEqual([])
    expect((await developer.call(showDataSource, { source_id: 'db_late' })).ready).toBe(true)
    // Its own attempt it does undo.
    await endLease(org, 'late')
    await expect(begin(org, 'late', fails)).rejects.toThrow('went away')
    expect(removed).toEqual([expect.stringMatching(/_late$/)])
    expect(await system.db.select().from(dataSources).where(isNamed(org, 'late'))).toEqual([])
  })

  test('whoever was overtaken writes nothing, and the one that goes on is the one that made it', async () => {
    const created = async (of: Org) => {
      const { audit } = await of.owner.call(listAudit, { org_id: of.id, action: 'database.created' })
      return audit.filter(({ subject }) => subject === 'db_slow').length
    }
    const ready = async (of: Org) =>
      (await system.db.select().from(dataSources).where(isNamed(of, 'slow')))[0]?.preparingUntil === null
    const [overtaken, made] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let second: Promise<unknown> | undefined
    const first = begin(org, 'slow', async () => {
      await endLease(org, 'slow')
      second = begin(org, 'slow', () => {
        overtaken.resolve()
        return made.promise
      })
      await overtaken.promise
    })
    await expect(first).rejects.toMatchObject({ code: 'CONFLICT' })
    expect([await ready(org), await created(org)]).toEqual([false, 0])
    await begin(other, 'slow', async () => {})
    made.resolve()
    await second
    expect([await ready(org), await created(org)]).toEqual([true, 1])
    expect([await ready(other), await created(other)]).toEqual([true, 1])
    // And one that was removed meanwhile stays so.
    const late = begin(org, 'slower', async () => {
      await system.db.delete(dataSources).where(isNamed(org, 'slower'))
    })
    await expect(late).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

/** Invalid password, no such login, no right to connect, no such database; or the server does not know the password either. */
const LOGIN_REFUSED = expect.stringMatching(/^(28\w{3}|42501|3D000|SASL\w*)$/) as string

describe('the connection string', () => {
  test('is one that a driver takes: tables, vectors, transactions', async () => {
    const { url, host, port, user, password, database } = await developer.call(showConnectionString, {
      name: 'crm',
    })
    const parsed = new URL(url)
    expect([parsed.hostname, Number(parsed.port), parsed.username]).toEqual([host, port, user])
    expect([decodeURIComponent(parsed.password), parsed.pathname]).toEqual([password, `/${database}`])
    const rows = await atAddress(url, async (sql) => {
      await sql`create table people (id int primary key, name text, embedding vector(3))`
      await sql.begin(async (tx) => {
        await tx`insert into people values (1, ${'Ada'}, ${'[1,0,0]'}), (2, ${"O'Neil"}, ${'[0,1,0]'})`
      })
      return sql`select name from people order by embedding <-> '[0,1,0]' limit 1`
    })
    expect([...rows]).toEqual([{ name: "O'Neil" }])
  })

  test.each(['viewer', 'member'] as const)('is not for a %s', async (role) => {
    const { call } = await makeMember(system, org, role)
    await expect(call(showConnectionString, { name: 'crm' })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(call(createDatabase, { name: 'mine' })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(call(listDataSources, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  test('is shown to an unscoped token, never to one with scopes and never to an agent', async () => {
    const unscoped = await makeApiToken(system, org, developer)
    expect((await unscoped.call(showConnectionString, { name: 'crm' })).name).toBe('crm')
    const scoped = await makeApiToken(system, org, org.owner, { scopes: ['data:read'] })
    const agent = system.as({ token: await signActor(system, actorOf(org, developer, unscoped.id)) })
    for (const call of [scoped.call, agent]) {
      for (const attempt of [
        () => call(showConnectionString, { name: 'crm' }),
        () => call(createDatabase, { name: 'agents' }),
        () => call(removeDatabase, { name: 'crm', confirm: 'crm' }),
        () => call(setDataSourceExposure, { source_id: 'db_crm', exposed: true }),
        () => call(saveSearchConfiguration, { source_id: 'db_crm', ...configurationOf([]) }),
      ]) {
        await expect(attempt()).rejects.toMatchObject({ code: 'FORBIDDEN' })
      }
    }
  })

  test('opens one database and no other', async () => {
    const [mine, theirs] = await Promise.all(
      [org, other].map(({ owner }) => owner.call(showConnectionString, { name: 'crm' })),
    )
    expect(mine!.database).not.toBe(theirs!.database)
    expect(mine!.password).not.toBe(theirs!.password)
    const logins = [
      { user: mine!.user, password: mine!.password, database: theirs!.database },
      { user: theirs!.user, password: theirs!.password, database: mine!.database },
      { user: mine!.user, password: theirs!.password, database: mine!.database },
      { user: theirs!.user, password: mine!.password, database: theirs!.database },
      { user: mine!.user, password: mine!.password, database: 'postgres' },
      { user: 'postgres', password: mine!.password, database: 'postgres' },
      { user: mine!.user, password: '', database: mine!.database },
    ]
    for (const { user, password, database } of logins) {
      const url = `postgres://${user}:${encodeURIComponent(password)}@${mine!.host}:${mine!.port}/${database}`
      await expect(atAddress(url, (sql) => sql`select 1`)).rejects.toMatchObject({
        code: LOGIN_REFUSED,
      })
    }
    expect(await inDatabase(other, 'crm', (sql) => sql`select to_regclass('people') as t`)).toMatchObject([
      { t: null },
    ])
  })
})

test('another organization sees, reads, changes and removes nothing of it', async () => {
  const { id } = await developer.call(showDataSource, { source_id: 'db_crm' })
  await developer.call(updateDataSource, { source_id: id, name: 'Customers' })
  const hers = await makeOrganization(system)
  const { call } = hers.owner
  expect((await call(listDataSources, {})).data_sources).toEqual([])
  for (const source_id of [id, 'db_crm']) {
    for (const attempt of [
      () => call(showDataSource, { source_id }),
      () => call(updateDataSource, { source_id, name: 'Mine' }),
      () => call(setDataSourceState, { source_id, enabled: true }),
      () => call(setDataSourceExposure, { source_id, exposed: true }),
      () => call(saveSearchConfiguration, { source_id, ...configurationOf([]) }),
      () => call(queryDataSource, { source_id, query: 'x' }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
  }
  await expect(call(showConnectionString, { name: 'crm' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(call(removeDatabase, { name: 'crm', confirm: 'crm' })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
  expect(await developer.call(showDataSource, { source_id: id })).toMatchObject({
    name: 'Customers',
    enabled: false,
  })
})

describe('attaching', () => {
  /** Another installation, whose databases are to us what any Postgres is. */
  let elsewhere: SystemWithDatabases
  let theirs: Org
  let url = ''

  beforeAll(async () => {
    elsewhere = await startWithDatabases({ MANAGED_DATABASE_URL: 'embedded' })
    theirs = await makeOrganization(elsewhere)
    await theirs.owner.call(createDatabase, { name: 'erp' })
    url = (await theirs.owner.call(showConnectionString, { name: 'erp' })).url
    await atAddress(url, (sql) =>
      sql.unsafe(`create table orders (id int, title text, embedding vector(3));
        insert into orders values (1, 'one', '[1,0,0]')`),
    )
  })
  afterAll(() => elsewhere.stop())

  const attach = (address: string, who: Person = org.owner) =>
    who.call(attachDatabase, { name: 'erp', url: address })

  test('is for owners and admins', async () => {
    await expect(attach(url, developer)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  test('takes no address outside the operator’s list, and dials none', async () => {
    for (const host of [
      '127.0.0.2',
      'localhost.',
      '10.0.0.1',
      '169.254.169.254',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '2130706433',
    ]) {
      const attempt = attach(url.replace('127.0.0.1', host))
      await expect(attempt).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    }
    const closed = theirs.owner.call(attachDatabase, { name: 'own', url })
    await expect(closed).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: 'Databases at this address may not be attached',
    })
  })

  test('takes no database of our own servers', async () => {
    const { url: own } = await org.owner.call(showConnectionString, { name: 'crm' })
    await expect(attach(own)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  })

  test('says nothing that the other server said, and keeps nothing of what failed', async () => {
    const wrong = new URL(url)
    wrong.password = 'sesame-sesame'
    for (const address of [
      wrong.href,
      url.replace(/:\d+\//, ':1/'),
      `${url}?options=-c%20x%3Dy`,
      'postgres:///x',
      'http://127.0.0.1/',
    ]) {
      const refused = await attach(address).catch((error: unknown) => error)
      expect(refused).toMatchObject({ code: 'INVALID_REQUEST' })
      expect(JSON.stringify(refused)).not.toMatch(/sesame|ECONN|password authentication/)
    }
    await expect(org.owner.call(showDataSource, { source_id: 'db_erp' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  test('lets it be asked, never shows its connection again, and lets it go whole', async () => {
    const { source_id, kind: attachedKind } = await attach(url)
    expect(attachedKind).toBe('attached')
    await expect(attach(url)).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(org.owner.call(showConnectionString, { name: 'erp' })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    const secret = decodeURIComponent(new URL(url).password)
    expect(JSON.stringify(await org.owner.call(showDataSource, { source_id }))).not.toContain(secret)

    await org.owner.call(saveSearchConfiguration, { source_id, ...configurationOf([entry('orders')]) })
    await org.owner.call(setDataSourceState, { source_id, enabled: true })
    await org.owner.call(setDataSourceExposure, { source_id, exposed: true })
    const { results } = await org.owner.call(queryDataSource, { source_id, query: 'x' })
    expect(results).toMatchObject([{ id: '1', title: 'one' }])

    await org.owner.call(removeDatabase, { name: 'erp', confirm: 'erp' })
    await expect(org.owner.call(showDataSource, { source_id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await atAddress(url, (sql) => sql`select id from orders`)).toMatchObject([{ id: 1 }])
  })
})

describe('removing', () => {
  test('is for owners and admins who say the name twice', async () => {
    const twice = { name: 'crm', confirm: 'crm' }
    await expect(developer.call(removeDatabase, twice)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(org.owner.call(removeDatabase, { ...twice, confirm: 'CRM' })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    })
    expect(await inDatabase(org, 'crm', (sql) => sql`select count(*)::int as n from people`)).toMatchObject([
      { n: 2 },
    ])
  })

  test('takes everything with it, and ends who is connected; the same name then begins empty', async () => {
    const { url, database } = await developer.call(showConnectionString, { name: 'crm' })
    await atAddress(url, async (sql) => {
      await sql`select 1`
      await org.owner.call(removeDatabase, { name: 'crm', confirm: 'crm' })
      await expect(sql`select 1`).rejects.toBeInstanceOf(Error)
    })
    await expect(org.owner.call(removeDatabase, { name: 'crm', confirm: 'crm' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    await expect(developer.call(showConnectionString, { name: 'crm' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    await expect(atAddress(url, (sql) => sql`select 1`)).rejects.toMatchObject({ code: LOGIN_REFUSED })
    if (kind() === 'embedded') {
      expect(await readdir(join(system.dataFolder, 'databases'))).not.toContain(database)
    }
    await developer.call(createDatabase, { name: 'crm' })
    expect(await inDatabase(org, 'crm', (sql) => sql`select to_regclass('people') as t`)).toMatchObject([
      { t: null },
    ])
    await expect(atAddress(url, (sql) => sql`select 1`)).rejects.toMatchObject({ code: LOGIN_REFUSED })
  })
})

test('no password and no address of a database stands in the log, and nothing was an error of ours', () => {
  expect(system.logLines.filter((line) => /postgres:\/\/|sesame/.test(line))).toEqual([])
  expect(system.logLines.filter((line) => line.includes('"level":"error"'))).toEqual([])
})
