/** Managed databases on a real server: each login reaches its own database and no other. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect as dial, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { checkAttached, systemIdentifierOf } from '../../db/managed/check-attached.ts'
import { openPool, type Pool, type Target } from '../../db/managed/open-pool.ts'
import {
  ManagedServerError,
  openManagedServer,
  type ManagedServer,
} from '../../db/managed/postgres-server.ts'
import { quoteIdentifier } from '../../db/managed/quote-identifier.ts'
import { createManagedDatabase, dropManagedDatabase, type Admin } from '../../db/managed/managed-database.ts'
import { scramVerifier } from '../../db/wire/scram.ts'
import { connect, type Connection } from '../../db/connect.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { startPostgres } from '../support/postgres.ts'
import { selfSigned } from '../support/self-signed.ts'
import { rawClient } from '../support/wire-client.ts'
import postgres from 'postgres'

// Roles, limits and sessions are the server’s.
const onPostgres = inject('engine') === 'postgres'
/** The server of npm has no pgvector; the one named here has. */
const hasVector = process.env['TEST_PGVECTOR_URL'] !== undefined

const NAME_PREFIX = `walk_${randomBytes(4).toString('hex')}`
let counter = 0
/** Of our own, so that what is left can be found. */
const newName = (): string => `${NAME_PREFIX}_${(counter += 1)}`

/** Leaves nothing on a server that is not ours to keep. */
async function cleanUp(url: string): Promise<void> {
  for (const { name } of await onServer(
    url,
    `select datname as name from pg_database where starts_with(datname, '${NAME_PREFIX}')`,
  )) {
    await onServer(url, `drop database if exists ${quoteIdentifier(name)} with (force)`)
  }
  for (const { name } of await onServer(
    url,
    `select rolname as name from pg_roles where starts_with(rolname, '${NAME_PREFIX}')`,
  )) {
    await onServer(url, `drop owned by ${quoteIdentifier(name)}; drop role ${quoteIdentifier(name)}`)
  }
}

/** First the beginning of a transaction, so that the next one has none; then its end and every look at the settings. */
const REPLACE_PREPARED = `
create function replace_prepared() returns boolean language plpgsql as $$
declare
  one record;
  has_begin boolean := exists (select from pg_prepared_statements where statement like 'begin%');
begin
  for one in select name, statement, array_to_string(parameter_types, ', ') as types from pg_prepared_statements
    where not has_begin or statement like 'begin%' loop
    execute format('deallocate %I', one.name);
    execute format('prepare %I%s as select %s', one.name, '(' || nullif(one.types, '') || ')',
      case when one.statement like '%current_setting%' then $x$'5s' as s0, 'on' as s1$x$ else 'where false' end);
  end loop;
  perform set_config('default_transaction_read_only', 'off', false);
  begin
    update counter set n = n + 1;
  exception when others then null; end;
  return true;
end $$`

type Client = Pool & { readonly target: Target }

function clientOf(
  url: string,
  user: string,
  password: string,
  database = user,
  more: Partial<Target> = {},
): Client {
  const { hostname: host, port } = new URL(url)
  const target: Target = {
    host,
    port: Number(port),
    user,
    password,
    database,
    ssl: 'disable',
    ...more,
  }
  const pool = openPool(target, {
    statementTimeoutMs: 5_000,
    max: 2,
    idleSeconds: 30,
    parameters: {},
    readOnly: false,
  })
  return { ...pool, target }
}

async function asks<T>(client: Client, work: (client: Client) => Promise<T>): Promise<T> {
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Whether the login may connect; and when not, that it was for want of the right to. */
async function mayConnect(url: string, user: string, password: string, database: string): Promise<boolean> {
  return asks(clientOf(url, user, password, database), async (client) => {
    try {
      await client.query('select 1')
      return true
    } catch (error) {
      // No right to, or no such database: another walk has dropped its own meanwhile.
      expect(['42501', '3D000']).toContain((error as { code?: string }).code)
      return false
    }
  })
}

function adminOf(url: string): { admin: Admin; close: () => Promise<void> } {
  const open = (target: string) => postgres(target, { max: 1, onnotice() {} })
  const sql = open(url)
  return {
    admin: {
      sql,
      async inDatabase(name, work) {
        const own = open(databaseUrl(url, name))
        try {
          await work(own)
        } finally {
          await own.end()
        }
      },
    },
    close: () => sql.end(),
  }
}

describe.skipIf(!onPostgres)('managed databases on a server', () => {
  let url = ''
  let admin: Admin
  let close: () => Promise<void>
  let control: Connection

  beforeAll(async () => {
    url = inject('postgres').url
    ;({ admin, close } = adminOf(url))
    control = await connect({ url }, { poolSize: 1 })
  })
  afterAll(async () => {
    await close()
    await control.close()
    await cleanUp(url)
  })

  const made = async (): Promise<{ name: string; password: string }> => {
    const [name, password] = [newName(), randomBytes(12).toString('hex')]
    await createManagedDatabase(admin, name, scramVerifier(password), { withVector: false })
    return { name, password }
  }
  const isThere = async (name: string): Promise<boolean> =>
    (
      await control.sql.query(
        `select from pg_roles where rolname = '${name}' union all select from pg_database where datname = '${name}'`,
      )
    ).length > 0

  describe('a tenant', () => {
    let own: { name: string; password: string }
    let other: { name: string; password: string }
    /** Those of that moment: beside this walk, others go on making databases on the same server. */
    let databases: string[]

    beforeAll(async () => {
      own = await made()
      other = await made()
      const rows = await control.sql.query<{ name: string }>(
        'select datname as name from pg_database where datallowconn',
      )
      databases = rows.map(({ name }) => name)
      // The service revokes CONNECT from PUBLIC before it creates any; here it is done for the databases of the test.
      const server = openManagedServer(url)
      await server.revokePublicConnect()
      await server.close()
    })

    test('works in its own database: tables, schemas, temporary tables', async () => {
      await asks(clientOf(url, own.name, own.password), async (client) => {
        await client.query('create table notes (id int primary key, text text)')
        await client.query("insert into notes values (1, 'mine')")
        await client.query('create schema more')
        await client.query('create temporary table t (i int)')
        expect(await client.query('select text from notes')).toEqual([{ text: 'mine' }])
      })
    })

    test('connects to no other database of the server', async () => {
      expect(databases).toEqual(expect.arrayContaining([other.name, 'postgres', 'template1']))
      const open = []
      for (const name of databases) {
        if (await mayConnect(url, own.name, own.password, name)) open.push(name)
      }
      expect(open).toEqual([own.name])
    })

    test.each([
      ['make a role', 'create role walk_made'],
      ['make a database', 'create database walk_made'],
      ['rename its database', 'alter database OWN rename to walk_made'],
      ['drop its database', 'drop database OWN'],
      ['take more connections', 'alter role OWN connection limit 1000'],
      ['make itself a superuser', 'alter role OWN superuser'],
      ['act as the administrator', 'set role postgres'],
      ['act as another tenant', 'set role OTHER'],
      ['end others by force', 'drop role OTHER'],
      ['read files of the server', "select pg_read_file('PG_VERSION')"],
      ['run programs on the server', "copy (select 1) to program 'true'"],
      ['reach out from the server', 'create extension dblink'],
      ['read password verifiers', 'select rolpassword from pg_authid'],
      ['join roles that read everything', 'grant pg_read_all_data to OWN'],
      ['give the administrator to itself', 'grant postgres to OWN'],
    ])('cannot %s', async (_what, text) => {
      const statement = text
        .replaceAll('OWN', quoteIdentifier(own.name))
        .replaceAll('OTHER', quoteIdentifier(other.name))
      await asks(clientOf(url, own.name, own.password), async (client) => {
        await expect(client.query(statement)).rejects.toMatchObject({
          code: expect.stringMatching(/^(42501|42704|0A000|28000)$/) as string,
        })
      })
    })

    test('cannot let others into its database', async () => {
      await asks(clientOf(url, own.name, own.password), (client) =>
        // The server only warns whoever has nothing to grant.
        client.query(`grant connect on database ${quoteIdentifier(own.name)} to public`),
      )
      expect(await mayConnect(url, other.name, other.password, own.name)).toBe(false)
    })

    test('sees that others are connected, but not what they ask', async () => {
      await asks(clientOf(url, other.name, other.password), async (neighbor) => {
        await neighbor.query('select 1 as canary_of_the_neighbor')
        const seen = await asks(clientOf(url, own.name, own.password), (client) =>
          client.query<{ query: string }>(
            `select query from pg_stat_activity where usename = '${other.name}'`,
          ),
        )
        expect(seen).not.toHaveLength(0)
        expect(seen.map(({ query }) => query)).not.toContainEqual(expect.stringContaining('canary'))
      })
    })

    test('is a role without any power and with a limit of connections', async () => {
      const [role] = await control.sql.query(
        `select rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, rolinherit, rolconnlimit,
          (select count(*)::int from pg_auth_members where member = r.oid) as memberships
        from pg_roles r where rolname = '${own.name}'`,
      )
      expect(role).toEqual({
        rolsuper: false,
        rolcreatedb: false,
        rolcreaterole: false,
        rolreplication: false,
        rolbypassrls: false,
        rolinherit: false,
        rolconnlimit: 30,
        memberships: 0,
      })
    })

    test('that lets another join it still has its database to itself', async () => {
      // Only Postgres 15 lets it; from 16 on this is refused, which is as good.
      await asks(clientOf(url, own.name, own.password), (client) =>
        client.query(`grant ${quoteIdentifier(own.name)} to ${quoteIdentifier(other.name)}`).catch(() => {}),
      )
      expect(await mayConnect(url, other.name, other.password, own.name)).toBe(false)
    })
  })

  describe('made again after it was cut off', () => {
    const expectLife = async (
      name: string,
      prepare: (verifier: string) => Promise<unknown>,
    ): Promise<void> => {
      const password = randomBytes(12).toString('hex')
      await prepare(scramVerifier('a password that nobody kept'))
      await createManagedDatabase(admin, name, scramVerifier(password), { withVector: false })
      await asks(clientOf(url, name, password), (client) => client.query('create table t (i int)'))
      expect(await mayConnect(url, name, password, 'postgres')).toBe(false)
    }
    /** What `makeTenant` does, up to one step. */
    const STEPS: ((name: string, verifier: string) => Promise<unknown>)[] = [
      (name, verifier) =>
        admin.sql.unsafe(`create role ${name} login noinherit connection limit 30 password '${verifier}';
          comment on role ${name} is 'svc: login of a managed database'`),
      (name) => admin.sql.unsafe(`create database ${name} template template0 allow_connections false`),
      (name) =>
        admin.sql.unsafe(`revoke all on database ${name} from public;
          grant create, temporary on database ${name} to ${name};
          alter database ${name} allow_connections true`),
      (name) => admin.inDatabase(name, (sql) => sql.unsafe(`alter schema public owner to ${name}`)),
      (name) => admin.sql.unsafe(`grant connect on database ${name} to ${name}`),
    ]

    test.each([0, 1, 2, 3, 4, 5])('after %i steps', async (steps) => {
      const name = newName()
      await expectLife(name, async (verifier) => {
        for (const step of STEPS.slice(0, steps)) await step(name, verifier)
      })
    })

    test('by a removal: without its database, or without its right to log in', async () => {
      const name = newName()
      await expectLife(name, async (verifier) => {
        for (const step of STEPS.slice(0, 3)) await step(name, verifier)
        await admin.sql.unsafe(`drop database ${name}`)
        await admin.sql.unsafe(`alter role ${name} nologin`)
      })
    })

    test('it is closed to everybody while it is half made', async () => {
      const [outsider, name] = [await made(), newName()]
      for (const step of STEPS.slice(0, 2)) await step(name, scramVerifier('x'))
      await asks(clientOf(url, outsider.name, outsider.password, name), async (client) => {
        await expect(client.query('select 1')).rejects.toMatchObject({ code: '55000' })
      })
      for (const step of STEPS.slice(2, 3)) await step(name, scramVerifier('x'))
      expect(await mayConnect(url, outsider.name, outsider.password, name)).toBe(false)
    })
  })

  test('two are made at the same time, and four more', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, () => made()))
    for (const { name, password } of all) {
      expect(await mayConnect(url, name, password, name)).toBe(true)
    }
  })

  test('a removal ends its connections and leaves nothing, and may be repeated', async () => {
    const { name, password } = await made()
    await asks(clientOf(url, name, password), async (client) => {
      await client.query('create table t (i int)')
      const patient = {
        statementTimeoutMs: 600_000,
        max: 1,
        idleSeconds: 30,
        parameters: {},
        readOnly: false,
      }
      const sleeper = openPool(client.target, patient)
      const sleeping = sleeper.query('select pg_sleep(600)').catch((error: unknown) => error)
      const asleep = `select query as name from pg_stat_activity
        where datname = '${name}' and state = 'active' and query = 'select pg_sleep(600)'`
      await expect.poll(() => onServer(url, asleep)).toHaveLength(1)
      await dropManagedDatabase(admin, name)
      expect(await sleeping).toMatchObject({ code: '57P01' })
      await sleeper.end()
    })
    expect(await isThere(name)).toBe(false)
    await dropManagedDatabase(admin, name)
  })

  test('another password ends the sessions with the one before, also those that were logging in, and no later ones', async () => {
    const { name, password } = await made()
    const port = Number(new URL(url).port)
    const [inside, late] = [await rawClient(port), await rawClient(port)]
    expect((await inside.login(name, password)).at(-1)).toBe('Z:I')
    const server = openManagedServer(url)
    try {
      const answers = await late.login(name, password, {}, async () => {
        await createManagedDatabase(admin, name, scramVerifier('other'), { withVector: false })
        await server.endSessionsOf(name)
      })
      expect((await inside.until('E')).at(-1)).toContain('C57P01')
      await asks(clientOf(url, name, 'other'), async (after) => {
        const pid = () => after.query('select pg_backend_pid() as pid')
        const before = await pid()
        // Postgres lets it in: it had the verifier already.
        expect(answers.at(-1)).toBe('Z:I')
        expect((await late.until('E')).at(-1)).toContain('C57P01')
        await late.closed
        expect(await pid()).toEqual(before)
      })
    } finally {
      await server.close()
    }
  })

  test('roles and databases that are not ours are neither altered nor dropped', async () => {
    const [role, database] = [newName(), newName()]
    await onServer(url, `create role ${role} login password 'theirs'`)
    await onServer(url, `create database ${database}`)
    for (const name of [role, database, 'postgres']) {
      await expect(
        createManagedDatabase(admin, name, scramVerifier('x'), { withVector: false }),
      ).rejects.toThrow('svc did not create')
      await expect(dropManagedDatabase(admin, name)).rejects.toThrow('svc did not create')
    }
    expect(await isThere(role)).toBe(true)
    expect(await isThere(database)).toBe(true)
  })

  test.each(['', 'Big', '1a', 'a-b', 'a"b', "a'b", `a${'b'.repeat(63)}`, 'a b', 'a;b'])(
    '%j is not a name of a managed database',
    async (name) => {
      await expect(
        createManagedDatabase(admin, name, scramVerifier('x'), { withVector: false }),
      ).rejects.toThrow('Not the name')
      await expect(dropManagedDatabase(admin, name)).rejects.toThrow('Not the name')
    },
  )

  test('a password in the place of a verifier is refused before it reaches a log of the server', async () => {
    await expect(
      createManagedDatabase(admin, newName(), "x' superuser", { withVector: false }),
    ).rejects.toThrow('verifier')
  })

  test('an administrator who is no superuser makes and removes them too', async () => {
    const [manager, name] = [newName(), newName()]
    await onServer(url, `create role ${manager} login createdb createrole password 'manager'`)
    // Named, because on a server where PUBLIC has lost CONNECT a new role cannot connect.
    await onServer(url, `grant connect on database postgres to ${manager}`)
    const own = new URL(url)
    ;[own.username, own.password] = [manager, 'manager']
    const restricted = adminOf(own.href)
    try {
      await createManagedDatabase(restricted.admin, name, scramVerifier('first'), { withVector: false })
      await createManagedDatabase(restricted.admin, name, scramVerifier('second'), { withVector: false })
      await asks(clientOf(url, name, 'second'), async (client) => {
        await client.query('create table t (i int)')
        await dropManagedDatabase(restricted.admin, name)
      })
      expect(await isThere(name)).toBe(false)
    } finally {
      await restricted.close()
    }
  })

  test('closing the server keeps whoever could connect before, and no tenant', async () => {
    const [plane, database, kept] = [newName(), newName(), newName()]
    const tenant = await made()
    await onServer(url, `create role ${plane} login password 'plane'; create role ${kept} nologin`)
    await onServer(url, `create database ${database}`)
    const server = openManagedServer(url, { keepConnect: [kept, 'no "such" role\\'] })
    try {
      expect(await server.revokePublicConnect()).toEqual([])
      expect(await server.revokePublicConnect()).toEqual([])
    } finally {
      await server.close()
    }
    expect(await mayConnect(url, plane, 'plane', database)).toBe(true)
    expect(await mayConnect(url, tenant.name, tenant.password, database)).toBe(false)
    const [rights] = await control.sql.query(
      `select has_database_privilege('${kept}', '${database}', 'connect, temporary') as kept,
        has_database_privilege('public', '${database}', 'connect') as everybody`,
    )
    expect(rights).toEqual({ kept: true, everybody: false })
    expect(
      await mayConnect(url, plane, 'plane', tenant.name),
      'a database of a tenant is nobody else’s',
    ).toBe(false)
  })

  describe('a connection for questions', () => {
    test('has its settings from the start, asks prepared questions, and takes parameters', async () => {
      const { name, password } = await made()
      const { target } = clientOf(url, name, password)
      const pool = openPool(target, {
        statementTimeoutMs: 1_500,
        max: 2,
        idleSeconds: 5,
        parameters: {
          plan_cache_mode: 'force_custom_plan',
          'hnsw.ef_search': '200',
        },
        readOnly: true,
      })
      try {
        for (let time = 0; time < 3; time += 1) {
          expect(
            await pool.query('select $1::int + 1 as n, $2::text[] as list', [String(time), '{a,b}']),
          ).toEqual([{ n: time + 1, list: '{a,b}' }])
        }
        const settings = ['statement_timeout', 'plan_cache_mode', 'hnsw.ef_search', 'application_name']
        const shown = settings.map((setting) => `current_setting('${setting}')`).join(` || ' ' || `)
        expect(await pool.query(`select ${shown} as shown`)).toEqual([
          { shown: '1500ms force_custom_plan 200 svc' },
        ])
        await expect(pool.query('create table t (i int)')).rejects.toMatchObject({ code: '25006' })
        await expect(pool.query('select pg_sleep(5)')).rejects.toMatchObject({ code: '57014' })
        expect(
          await Promise.all([1, 2, 3, 4, 5].map((n) => pool.query('select $1::int as n', [String(n)]))),
        ).toHaveLength(5)
      } finally {
        await pool.end()
      }
    })

    test('is cancelled at the server where that does not keep its time', async () => {
      const { name, password } = await made()
      const { target } = clientOf(url, name, password)
      const pool = openPool(target, {
        statementTimeoutMs: 200,
        graceMs: 100,
        max: 1,
        idleSeconds: 5,
        parameters: {},
        // Nothing is rolled back, so that the switched off time limit stays.
        readOnly: false,
      })
      try {
        await pool.query(`select set_config('statement_timeout', '0', false)`)
        await expect(pool.query('select pg_sleep(60)')).rejects.toMatchObject({ code: 'ETIMEDOUT' })
        const running = () =>
          control.sql.query(`select from pg_stat_activity where usename = '${name}' and state = 'active'`)
        await expect.poll(running, { timeout: 10_000 }).toEqual([])
      } finally {
        await pool.end()
      }
    })

    test('undoes what a question did to the session, and keeps to its own time limit', async () => {
      const { name, password } = await made()
      const { target } = clientOf(url, name, password)
      const settings = { max: 1, idleSeconds: 5, parameters: {} }
      const writer = openPool(target, { ...settings, statementTimeoutMs: 5_000, readOnly: false })
      const pool = openPool(target, { ...settings, statementTimeoutMs: 300, readOnly: true })
      try {
        await writer.query('create table t (n int)')
        const pid = async () => (await pool.query<{ pid: number }>('select pg_backend_pid() as pid'))[0]?.pid
        const before = await pid()
        const off = (setting: string, value: string) => `set_config('${setting}', '${value}', false)`
        await pool.query(
          `select ${off('default_transaction_read_only', 'off')}, ${off('statement_timeout', '0')}`,
        )
        expect(await pid(), 'undone, so that the connection can be kept').toBe(before)
        await expect(pool.query('insert into t values (1)')).rejects.toMatchObject({ code: '25006' })
        await expect(pool.query(`select ${off('transaction_read_only', 'off')}`)).rejects.toMatchObject({
          code: '25001',
        })
        await expect(pool.query('select pg_sleep(20)')).rejects.toMatchObject({ code: '57014' })
        expect(await writer.query('select count(*)::int as n from t')).toEqual([{ n: 0 }])
      } finally {
        await writer.end()
        await pool.end()
      }
    })

    test('is guarded by nothing that a question could replace: prepared statements are the session’s own', async () => {
      const { name, password } = await made()
      const { target } = clientOf(url, name, password)
      const settings = { max: 1, idleSeconds: 5, parameters: {}, statementTimeoutMs: 5_000 }
      const writer = openPool(target, { ...settings, readOnly: false })
      const pool = openPool(target, { ...settings, readOnly: true })
      try {
        await writer.query('create table counter (n int)')
        await writer.query('insert into counter values (0)')
        await writer.query(REPLACE_PREPARED)
        const session = `select pg_backend_pid() as pid, current_setting('default_transaction_read_only') as writes,
          current_setting('transaction_read_only') as now, current_setting('statement_timeout') as ms`
        const before = await pool.query(session)
        for (let time = 0; time < 6; time += 1) {
          // Each in other words, since it replaces itself, too.
          expect(await pool.query(`select replace_prepared() as done, ${time} as time`)).toEqual([
            { done: true, time },
          ])
        }
        expect(await pool.query(`${session} where true`)).toEqual(before)
        expect(before).toMatchObject([{ writes: 'on', now: 'on', ms: '5s' }])
        expect(await writer.query('select n from counter')).toEqual([{ n: 0 }])
      } finally {
        await writer.end()
        await pool.end()
      }
    })

    test('dials the addresses it was given, and asks for them each time', async () => {
      const { name, password } = await made()
      const { hostname } = new URL(url)
      let allowed: string[] = []
      let asked = 0
      const addresses = () => {
        asked += 1
        return Promise.resolve(allowed)
      }
      await asks(
        clientOf(url, name, password, name, { host: 'nowhere.invalid', addresses }),
        async (client) => {
          for (let time = 0; time < 5; time += 1) {
            await expect(client.query('select 1')).rejects.toMatchObject({ code: 'ADDRESS_NOT_ALLOWED' })
          }
          allowed = [hostname]
          expect(await client.query('select 1 as one'), 'refusals used up no place in the pool').toEqual([
            { one: 1 },
          ])
          expect(asked).toBe(6)
        },
      )
    })

    test('ports nobody listens on and wrong passwords are errors, again and again', async () => {
      const { name } = await made()
      for (const [more, code] of [
        [{ port: 1 }, 'ECONNREFUSED'],
        [{}, '28P01'],
      ] as const) {
        await asks(clientOf(url, name, 'wrong', name, more), async (client) => {
          for (let time = 0; time < 4; time += 1) {
            await expect(client.query('select 1')).rejects.toMatchObject({ code })
          }
        })
      }
    })

    describe('in TLS', () => {
      const certificate = onPostgres ? selfSigned('db.example.com') : { key: '', cert: '' }
      let front: Server
      let frontPort = 0
      let secured = 0
      const open = new Set<Socket>()

      /** Ends TLS in front of the server, which has none. */
      beforeAll(async () => {
        front = createServer((socket) => {
          open.add(socket.on('error', () => {}))
          socket.once('data', () => {
            socket.write('S')
            const inside = new TLSSocket(socket, { isServer: true, ...certificate })
            inside.on('error', () => {}).once('secure', () => (secured += 1))
            const { hostname, port } = new URL(url)
            const behind = dial(Number(port), hostname).on('error', () => {})
            inside.pipe(behind).pipe(inside)
          })
        }).listen(0, '127.0.0.1')
        await once(front, 'listening')
        frontPort = (front.address() as AddressInfo).port
      })
      afterAll(async () => {
        for (const socket of open) socket.destroy()
        await new Promise((closed) => front.close(closed))
      })

      const through = (name: string, password: string, more: Partial<Target>) =>
        clientOf(url, name, password, name, {
          host: 'db.example.com',
          port: frontPort,
          addresses: () => Promise.resolve(['127.0.0.1']),
          ...more,
        })

      test('`require` encrypts and does not look at the certificate, `verify-full` does', async () => {
        const { name, password } = await made()
        const before = secured
        for (const more of [
          { ssl: 'require' },
          { ssl: 'prefer' },
          { ssl: 'verify-full', ca: certificate.cert },
        ] as const) {
          await asks(through(name, password, more), async (client) => {
            expect(await client.query('select 1 as one')).toEqual([{ one: 1 }])
          })
        }
        expect(secured - before).toBe(3)
        for (const [more, code] of [
          [{ ssl: 'verify-full' }, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
          [
            { ssl: 'verify-full', ca: certificate.cert, host: 'other.example.com' },
            'ERR_TLS_CERT_ALTNAME_INVALID',
          ],
          [{ ssl: 'verify-full', ca: certificate.cert, host: '127.0.0.1' }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
        ] as const) {
          await asks(through(name, password, more), async (client) => {
            await expect(client.query('select 1')).rejects.toMatchObject({ code })
          })
        }
      })

      test('a server without TLS is used by `prefer` alone', async () => {
        const { name, password } = await made()
        for (const ssl of ['require', 'verify-full'] as const) {
          await asks(clientOf(url, name, password, name, { ssl }), async (client) => {
            await expect(client.query('select 1')).rejects.toMatchObject({ code: 'TLS_UNAVAILABLE' })
          })
        }
        await asks(clientOf(url, name, password, name, { ssl: 'prefer' }), (client) =>
          client.query('select 1'),
        )
      })
    })
  })

  test('a server that is to be attached says whether it is fit, and whether it is our own', async () => {
    const { name, password } = await made()
    await asks(clientOf(url, name, password), async (client) => {
      const systemIdentifier = await systemIdentifierOf((text) => control.sql.query(text))
      expect(systemIdentifier).toMatch(/^\d+$/)
      expect(await checkAttached(client.query, { systemIdentifier: systemIdentifier ?? '' })).toEqual([
        expect.stringContaining('CREATE EXTENSION'),
        expect.stringContaining('the service itself'),
      ])
      expect(await checkAttached(client.query, { systemIdentifier: '1' })).toHaveLength(1)
    })
  })

  describe('the whole of it', () => {
    let server: ManagedServer
    beforeAll(() => {
      server = openManagedServer(url)
    })
    afterAll(() => server.close())

    test('the server says where its databases are', () => {
      const { hostname, port } = new URL(url)
      expect(server).toMatchObject({ host: hostname, port: Number(port), ssl: 'disable' })
    })

    test.skipIf(hasVector)(
      'a server without pgvector is refused in a sentence, and keeps nothing',
      async () => {
        const name = newName()
        await expect(server.create(name, scramVerifier('x'))).rejects.toMatchObject({
          name: 'ManagedServerError',
          message: expect.stringContaining('no pgvector 0.8 or newer') as string,
        })
        expect(await isThere(name)).toBe(false)
      },
    )

    test.skipIf(!hasVector)(
      'with pgvector (TEST_PGVECTOR_URL): made, used, made again, removed',
      async () => {
        const [name, other] = [newName(), newName()]
        await Promise.all([
          server.create(name, scramVerifier('first')),
          server.create(other, scramVerifier('other')),
        ])
        await asks(clientOf(url, name, 'first'), async (client) => {
          await client.query('create table t (e vector(3))')
          await client.query("insert into t values ('[1,2,3]')")
          expect(await client.query("select e <-> '[1,2,3]' as d from t")).toEqual([{ d: 0 }])
          await expect(client.query('drop extension vector')).rejects.toMatchObject({ code: '42501' })
        })
        expect(await mayConnect(url, name, 'first', other)).toBe(false)
        expect(await mayConnect(url, name, 'first', 'template1')).toBe(false)
        await server.create(name, scramVerifier('second'))
        await asks(clientOf(url, name, 'second'), async (client) => {
          expect(await client.query('select count(*)::int as n from t')).toEqual([{ n: 1 }])
        })
        await Promise.all([server.remove(name), server.remove(other)])
        await server.remove(name)
        expect(await isThere(name)).toBe(false)
      },
    )

    test.skipIf(!hasVector)(
      'with pgvector (TEST_PGVECTOR_URL): a database that was left without the extension gets it',
      async () => {
        const name = newName()
        await admin.sql.unsafe(
          `create role ${name} login; comment on role ${name} is 'svc: login of a managed database'`,
        )
        await admin.sql.unsafe(`create database ${name} template template0 allow_connections false`)
        await server.create(name, scramVerifier('x'))
        await asks(clientOf(url, name, 'x'), async (client) => {
          expect(
            await client.query("select extname from pg_extension where extname = 'vector'"),
          ).toHaveLength(1)
        })
      },
    )

    test.skipIf(!hasVector)(
      'with pgvector (TEST_PGVECTOR_URL): a login that may not install it is refused in a sentence, and what was made goes again',
      async () => {
        const [manager, name] = [newName(), newName()]
        await onServer(url, `create role ${manager} login createdb createrole password 'manager'`)
        await onServer(url, `grant connect on database postgres to ${manager}`)
        await server.revokePublicConnect()
        const own = new URL(url)
        ;[own.username, own.password] = [manager, 'manager']
        const restricted = openManagedServer(own.href)
        try {
          await expect(restricted.create(name, scramVerifier('x'))).rejects.toMatchObject({
            message: expect.stringContaining('may not install pgvector') as string,
          })
          await restricted.remove(name)
          expect(await isThere(name)).toBe(false)
        } finally {
          await restricted.close()
        }
      },
    )

    test('what the server or the network says is not repeated', async () => {
      const wrong = new URL(url)
      wrong.password = 'canary-password'
      const nobody = new URL(url)
      nobody.port = '1'
      for (const address of [wrong.href, nobody.href]) {
        const broken = openManagedServer(address)
        try {
          const error = (await broken
            .remove(newName())
            .catch((problem: unknown) => problem)) as ManagedServerError
          expect(error).toBeInstanceOf(ManagedServerError)
          expect(error.message).toMatch(
            /^The server for managed databases (cannot be reached|refuses our login)\.$/,
          )
        } finally {
          await broken.close()
        }
      }
    })
  })
})

/** On a server of its own: on a shared one another test might revoke PUBLIC's rights in the same moment. */
describe.skipIf(!onPostgres)('a server whose databases are not all ours', () => {
  test('what our login may not close is named, and closed where it may', async () => {
    const { url, stop } = await startPostgres()
    try {
      const manager = newName()
      await onServer(url, `create role ${manager} login createdb createrole password 'manager'`)
      await onServer(url, `create database ${manager} owner ${manager}`)
      const own = new URL(url)
      ;[own.username, own.password] = [manager, 'manager']
      const server = openManagedServer(own.href)
      try {
        expect(await server.revokePublicConnect()).toEqual(['postgres', 'template1'])
      } finally {
        await server.close()
      }
      const superuser = openManagedServer(url)
      try {
        expect(await superuser.revokePublicConnect()).toEqual([])
      } finally {
        await superuser.close()
      }
      expect(await mayConnect(url, manager, 'manager', 'postgres')).toBe(true)
    } finally {
      await stop()
    }
  })
})
