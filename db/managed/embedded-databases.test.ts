import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { SAFE_OPTIONS } from '../safe-transactions.ts'
import { int32, message, simpleQuery, SYNC, cString } from '../wire/protocol-messages.ts'
import {
  bind,
  cancelRequest,
  execute,
  parse,
  rawClient,
  startupPacket,
  type RawClient,
} from '../../test/support/wire-client.ts'
import { scramVerifier } from '../wire/scram.ts'
import { openEmbeddedDatabases, type EmbeddedDatabases } from './embedded-databases.ts'

const PASSWORD = 'correct horse'
const verifier = scramVerifier(PASSWORD)
const ENDLESS = 'select count(*) from generate_series(1, 100000000000)'
const NAMES = ['one', 'two', 'three']

let home = ''
let databases: EmbeddedDatabases
const clients: postgres.Sql[] = []
const connections: RawClient[] = []
const beingMade = new Set<string>()

const options = (folder: string) => ({
  folder,
  host: '127.0.0.1',
  port: 0,
  loginOf: async (name: string) => (NAMES.includes(name) ? { verifier, orgId: 'org' } : undefined),
  isBeingCreated: async (name: string) => beingMade.has(name),
  saltKey: randomBytes(32),
})

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'svc-managed-'))
  const folder = join(home, 'databases')
  await mkdir(folder)
  databases = await openEmbeddedDatabases({
    ...options(folder),
    statementTimeoutMs: 20_000,
    idleInTransactionMs: 1_500,
    maxOpen: 2,
  })
  await databases.create('one')
  await databases.create('two')
}, 120_000)

afterEach(async () => {
  await Promise.all(clients.splice(0).map((sql) => sql.end({ timeout: 1 })))
  for (const { socket } of connections.splice(0)) socket.destroy()
})

afterAll(async () => {
  await databases.close()
  await rm(home, { recursive: true })
})

function client(name: string, more: Record<string, unknown> = {}): postgres.Sql {
  const { connection, ...rest } = more as { connection?: object }
  const sql = postgres({
    host: '127.0.0.1',
    port: databases.port,
    user: name,
    database: name,
    password: PASSWORD,
    max: 1,
    fetch_types: false,
    onnotice() {},
    backoff: () => 0.05,
    ...SAFE_OPTIONS,
    ...rest,
    connection: { ...SAFE_OPTIONS.connection, ...connection },
  } as postgres.Options<Record<string, never>>)
  clients.push(sql)
  return sql
}

async function raw(name: string, parameters: Record<string, string> = {}) {
  const connection = await rawClient(databases.port)
  await connection.login(name, PASSWORD, parameters)
  connections.push(connection)
  return connection
}

/** Settles when the server has heard it. */
async function cancel(key: Uint8Array): Promise<void> {
  const messenger = await rawClient(databases.port)
  messenger.send(cancelRequest(key))
  await messenger.closed
}

describe('login', () => {
  test('a wrong password, an unknown name and a wrong database are told the same, in as many messages', async () => {
    const tries = await Promise.all(
      [
        ['one', 'wrong', {}],
        ['nobody', PASSWORD, {}],
        ['one', PASSWORD, { database: 'two' }],
        ['Not a name/../x', PASSWORD, {}],
      ].map(async ([user, password, more]) => {
        const connection = await rawClient(databases.port)
        const seen = await connection.login(
          user as string,
          password as string,
          more as Record<string, string>,
        )
        return seen.map((line) => line.replace(user as string, 'X').replace(/^salt:.{24}$/, 'salt'))
      }),
    )
    for (const seen of tries) expect(seen).toEqual(tries[0])
    expect(tries[0]?.at(-1)).toContain('C28P01 Mpassword authentication failed for user "X"')
  })

  test('an unknown name has the same salt each time, and a wrong database does not change the salt of a known one', async () => {
    const saltOf = async (user: string, database = user) =>
      (await (await rawClient(databases.port)).login(user, 'x', { database }))[1]
    expect(await saltOf('nobody')).toBe(await saltOf('nobody'))
    expect(await saltOf('nobody')).not.toBe(await saltOf('somebody'))
    expect(await saltOf('one', 'elsewhere')).toBe(await saltOf('one'))
  })

  test.each([
    ['replication', { replication: 'true' }, '0A000'],
    ['options', { options: '-c work_mem=1' }, '0A000'],
    ['a setting with an odd name', { 'a;b': '1' }, '42704'],
  ])('%s at start-up is refused', async (_, parameters, code) => {
    const connection = await rawClient(databases.port)
    const seen = await connection.login('one', PASSWORD, parameters)
    expect(seen.join()).toContain(`SFATAL VFATAL C${code}`)
  })

  test('a setting that the engine refuses is told with the first query', async () => {
    await expect(client('one', { connection: { work_mem: 'much' } })`select 1`).rejects.toMatchObject({
      code: '22023',
      severity: 'FATAL',
    })
  })

  test('a newer protocol is negotiated down, an older one refused', async () => {
    const newer = await rawClient(databases.port)
    newer.send(startupPacket({ user: 'one', '_pq_.wish': '1' }, 196610))
    expect((await newer.until('R'))[0]).toMatch(/^v:.*_pq_\.wish/s)
    newer.socket.destroy()
    const older = await rawClient(databases.port)
    older.send(startupPacket({ user: 'one' }, 131072))
    expect((await older.until('E'))[0]).toContain('unsupported frontend protocol')
  })

  test('channel binding and other mechanisms are refused', async () => {
    for (const opening of ['p=tls-server-end-point,,n=,r=abc', 'n,,n=,r=', 'nonsense']) {
      const connection = await rawClient(databases.port)
      connection.send(startupPacket({ user: 'one' }))
      await connection.until('R')
      connection.send(message('p', cString('SCRAM-SHA-256'), int32(opening.length), Buffer.from(opening)))
      expect((await connection.until('E')).at(-1)).toContain('C28000')
    }
  })
})

describe('many clients of one database', () => {
  test('eight connections with and without prepared statements get their own answers, transactions are isolated', async () => {
    await client('one').unsafe('create table counter (n int); insert into counter values (0)')
    const work = [true, false, true, false, true, false, true, false].map(async (prepare, who) => {
      const sql = client('one', { prepare })
      for (let round = 0; round < 100; round += 1) {
        const [row] = await sql`select ${who}::int as who, ${`${who}-${round}`}::text as what`
        expect(row).toEqual({ who, what: `${who}-${round}` })
        if (round % 20 > 0) continue
        await sql.begin(async (tx) => {
          const [read] = await tx<{ n: number }[]>`select n from counter`
          await tx`update counter set n = ${(read?.n ?? 0) + 1}`
        })
      }
    })
    await Promise.all(work)
    expect(await client('one')`select n from counter`).toEqual([{ n: 40 }])
  })

  test('the failed transaction of a client that died is not inherited by the next', async () => {
    const dying = await raw('one')
    dying.send(simpleQuery('begin; create table never (a int)'))
    await dying.until('Z')
    dying.send(parse('', 'select 1/0'), bind(''), execute, message('H'))
    await dying.until('E')
    dying.socket.resetAndDestroy()
    const sql = client('one')
    expect(await sql`select to_regclass('never') as there`).toEqual([{ there: null }])
    await sql.unsafe('create table after_death (a int)')
  })

  test('statements of the same name do not meet, and unnamed ones survive another client', async () => {
    const [a, b] = [await raw('one'), await raw('one')]
    for (const name of ['s1', '', 'x'.repeat(80)]) {
      a.send(parse(name, `select 'of a'`), SYNC)
      await a.until('Z')
      b.send(parse(name, `select 'of b'`), SYNC)
      await b.until('Z')
      for (const [who, connection] of [
        ['a', a],
        ['b', b],
        ['a', a],
      ] as const) {
        connection.send(bind(name), execute, SYNC)
        expect((await connection.until('Z')).join()).toContain(`of ${who}`)
      }
    }
  })

  test.each(['deallocate all', 'discard all', `do $$ begin execute 'deallocate all'; end $$`])(
    '%s leaves the statements of others alone, also when sent in the extended protocol',
    async (text) => {
      const [a, b] = [await raw('one'), await raw('one')]
      for (const harm of [[simpleQuery(text)], [parse('', text), bind(''), execute, SYNC]]) {
        a.send(parse('kept', `select 'still here'`), SYNC)
        await a.until('Z')
        b.send(...harm)
        expect((await b.until('Z')).join()).not.toContain('ERROR')
        a.send(bind('kept'), execute, SYNC)
        expect((await a.until('Z')).join()).toContain('still here')
        a.send(message('C', Buffer.from('S'), cString('kept')), SYNC)
        await a.until('Z')
      }
    },
  )

  test('statements made by SQL, and those of clients that left, are gone for the next client', async () => {
    const first = client('one')
    await first.unsafe('prepare mine as select 1')
    await first`select 1 as named`
    await first.end()
    const rows = await client('one', { prepare: false }).unsafe('select name from pg_prepared_statements')
    expect(rows).toEqual([])
  })

  test('the next client finds nothing of the session before it', async () => {
    const before = client('one')
    await before.unsafe(`set work_mem = '7MB'; set default_transaction_read_only = on`)
    await before.unsafe(
      `begin read write; create temp table secret (a int); commit; select pg_advisory_lock(7); set role pg_monitor`,
    )
    const [after] = await client(
      'one',
    )`select current_setting('work_mem') as memory, current_user::text as role,
      to_regclass('secret') as temporary, (select count(*)::int from pg_locks where locktype = 'advisory') as locks,
      current_setting('transaction_read_only') as read_only`
    expect(after).toEqual({ memory: '4MB', role: 'postgres', temporary: null, locks: 0, read_only: 'off' })
  })

  test('start-up parameters hold again after another client', async () => {
    const settings = { default_transaction_read_only: 'on', 'hnsw.ef_search': '123', application_name: 'svc' }
    const sql = client('one', { connection: settings })
    const other = client('one')
    const watcher = await raw('one', { TimeZone: 'Asia/Tokyo' })
    for (let round = 0; round < 2; round += 1) {
      expect(
        await sql`select current_setting('hnsw.ef_search') as ef, current_setting('application_name') as name`,
      ).toEqual([{ ef: '123', name: 'svc' }])
      await expect(sql`create table refused (a int)`).rejects.toMatchObject({ code: '25006' })
      await other.unsafe(`set "hnsw.ef_search" = 5; set timezone = 'Europe/Rome'`)
      watcher.send(simpleQuery('show timezone'))
      const seen = (await watcher.until('Z')).join()
      expect(seen).toContain('Asia/Tokyo')
    }
  })

  test('a client waits for a transaction of another, and gets its turn', async () => {
    const holder = await raw('one')
    holder.send(simpleQuery('begin'))
    await holder.until('Z')
    let answered = false
    const waiting = client('one')`select 1`.then(() => (answered = true))
    await sleep(200)
    expect(answered).toBe(false)
    holder.send(simpleQuery('commit'))
    await waiting
  })

  test('whoever is idle in a transaction is cut off, and its work undone', async () => {
    const idle = await raw('one')
    idle.send(simpleQuery('create table idle_work (a int)'))
    await idle.until('Z')
    idle.send(simpleQuery('begin; insert into idle_work values (1)'))
    await idle.until('Z')
    expect(await client('one')`select * from idle_work`).toEqual([])
    expect((await idle.until('E')).at(-1)).toContain('SFATAL VFATAL C25P03')
    await idle.closed
  })

  test('an error skips everything up to the Sync, also a simple query', async () => {
    const connection = await raw('one')
    connection.send(
      parse('', 'selec'),
      message('H'),
      simpleQuery('select 1'),
      SYNC,
      simpleQuery(`select 'next'`),
    )
    const seen = await connection.until('Z')
    expect(seen.map((line) => line[0])).toEqual(['E', 'Z'])
    expect((await connection.until('Z')).join()).toContain('next')
  })

  test('an answer much longer than what may lie ahead of a slow reader arrives whole', async () => {
    const rows = await client('one')`select repeat('x', 100000) as long from generate_series(1, 300)`
    expect(rows.reduce((sum, { long }) => sum + (long as string).length, 0)).toBe(30_000_000)
  })
})

describe('COPY', () => {
  beforeAll(() => client('one').unsafe('create table copied (a int, b text)'))
  const copy = (text: string, ...data: string[]) => [
    simpleQuery(text),
    ...data.map((line) => message('d', Buffer.from(line))),
    message('c'),
  ]

  test('text and csv are loaded, and read back by COPY TO', async () => {
    const connection = await raw('one')
    connection.send(...copy('/* copy */ COPY copied (a, b) FROM STDIN -- now', '1\tx', 'yz\n2\t\\N\n'))
    expect((await connection.until('Z')).map((line) => line.trim())).toEqual(
      expect.arrayContaining(['G:', 'C:COPY 2', 'Z:I']),
    )
    connection.send(...copy('copy copied from stdin with (format csv, header)', 'a,b\n3,"p,q"\n'))
    expect((await connection.until('Z')).join()).toContain('COPY 1')
    connection.send(simpleQuery('copy (select * from copied where a < 10 order by a) to stdout'))
    const seen = await connection.until('Z')
    expect(seen.filter((line) => line.startsWith('d'))).toEqual(['d:1\txyz\n', 'd:2\t\\N\n', 'd:3\tp,q\n'])
  })

  test('one that fails, or that the client gives up, fails its transaction', async () => {
    const connection = await raw('one')
    for (const ending of [
      copy('copy copied from stdin', 'no number\tx\n'),
      [
        simpleQuery('copy copied from stdin'),
        message('d', Buffer.from('9\tx\n')),
        message('f', cString(`my 'own' $$ reason \\`)),
      ],
    ]) {
      connection.send(simpleQuery('begin'))
      await connection.until('Z')
      connection.send(...ending)
      const seen = await connection.until('Z')
      expect(seen.at(-2)).toMatch(/C22P02|C57014 MCOPY from stdin failed: my 'own' \$\$ reason \\/)
      expect(seen.at(-1)).toBe('Z:E')
      connection.send(simpleQuery('select 1'))
      expect((await connection.until('Z')).join()).toContain('C25P02')
      connection.send(simpleQuery('rollback'))
      expect((await connection.until('Z')).at(-1)).toBe('Z:I')
    }
  })

  test('more than fits is refused without taking the memory, and the connection goes on', async () => {
    const connection = await raw('one')
    connection.send(simpleQuery('copy copied from stdin'))
    const piece = message('d', Buffer.alloc(32 * 1024 * 1024))
    for (let sent = 0; sent < 9; sent += 1) {
      await new Promise((written) => connection.socket.write(piece, written))
    }
    connection.send(message('c'))
    expect((await connection.until('Z')).join()).toContain('C54000')
    connection.send(...copy('copy copied from stdin', '77\tafter\n'))
    expect((await connection.until('Z')).join()).toContain('COPY 1')
  })

  test('words in a string are not one', async () => {
    const rows = await client('one').unsafe(`select 'copy x from stdin' as text`)
    expect(rows).toEqual([{ text: 'copy x from stdin' }])
  })

  test('in the extended protocol it is refused once, then everything up to the Sync is ignored', async () => {
    const connection = await raw('one')
    const extended = [parse('', 'copy copied from stdin'), bind(''), execute, SYNC]
    connection.send(...extended, simpleQuery(`select 'alive'`))
    const seen = await connection.until('Z')
    expect(seen.map((line) => line[0])).toEqual(['E', 'Z'])
    expect(seen[0]).toContain('C0A000')
    expect((await connection.until('Z')).join()).toContain('alive')
    connection.send(simpleQuery('begin'))
    await connection.until('Z')
    connection.send(...extended)
    expect((await connection.until('Z')).at(-1)).toBe('Z:E')
    connection.send(simpleQuery('rollback'))
    await connection.until('Z')
    connection.send(simpleQuery('select 1; copy copied from stdin'))
    expect((await connection.until('Z')).join()).toContain('C0A000')
  })
})

describe('isolation', () => {
  test('there is no way from one database to another, nor to the files of this machine', async () => {
    await client('two').unsafe(`create table private (a text); insert into private values ('of two')`)
    const sql = client('one')
    expect(await sql`select to_regclass('private') as there`).toEqual([{ there: null }])
    expect(await sql`select datname::text from pg_database order by 1`).toEqual([{ datname: 'postgres' }])
    await expect(sql`create database mine`).rejects.toMatchObject({ code: '3D000' })
    const own = join(home, 'databases', 'two', 'PG_VERSION')
    for (const path of [
      '/etc/passwd',
      own,
      '../two/PG_VERSION',
      '../../two/PG_VERSION',
      '/proc/self/environ',
    ]) {
      await expect(sql.unsafe(`select pg_read_file('${path}')`)).rejects.toThrow(/No such file|not allowed/)
    }
    // A tablespace is a symbolic link on the disk: the engine must follow it inside its own file system only.
    await sql.unsafe(`create tablespace elsewhere location '/tmp'`)
    await sql.unsafe('create table placed (a int) tablespace elsewhere')
    expect((await readdir('/tmp')).filter((name) => name.startsWith('PG_18_'))).toEqual([])
    await sql.unsafe('drop table placed; ')
    await sql.unsafe('drop tablespace elsewhere')
  })

  test('vector search works', async () => {
    const sql = client('two')
    await sql.unsafe(`create table items (id int, at vector(3)); insert into items
      select i, array[i, 0, 1]::vector from generate_series(1, 50) i; create index on items using hnsw (at vector_l2_ops)`)
    const rows = await sql`select id from items order by at <-> ${'[7,0,1]'}::vector limit 1`
    expect(rows).toEqual([{ id: 7 }])
  })
})

const psql = spawnSync('psql', ['--version']).status === 0
if (!psql) console.log('The test with psql is skipped: there is no psql on the PATH.')

test.skipIf(!psql)('psql restores a dump and copies in and out', async () => {
  const address = `postgres://two:${encodeURIComponent(PASSWORD)}@127.0.0.1:${databases.port}/two`
  const run = (...args: string[]) =>
    promisify(execFile)('psql', ['-X', '-At', '-v', 'ON_ERROR_STOP=1', ...args, address])
  const dump = `SET statement_timeout = 0; SELECT pg_catalog.set_config('search_path', '', false);
CREATE TABLE public.restored (a integer, b text);
COPY public.restored (a, b) FROM stdin;
1\tone
2\ttwo
\\.
INSERT INTO public.restored VALUES (3, 'three'), (4, 'four'), (5, 'f;ve');
SELECT count(*) FROM public.restored;
`
  const file = join(home, 'dump.sql')
  await writeFile(file, dump)
  expect((await run('-f', file)).stdout.trim().split('\n').at(-1)).toBe('5')
  const csv = join(home, 'out.csv')
  await run('-c', `\\copy restored to '${csv}' csv`)
  await run('-c', `\\copy restored from '${csv}' csv`)
  expect((await run('-c', 'select count(*) from restored')).stdout.trim()).toBe('10')
  expect((await run('-c', '\\d restored')).stdout).toContain('a|integer')
})

describe('LISTEN', () => {
  test('is refused in both protocols, and fails its transaction', async () => {
    const connection = await raw('one')
    connection.send(simpleQuery('listen news'))
    const [refused, ready] = await connection.until('Z')
    expect(refused).toContain('C0A000 MLISTEN is not supported')
    expect(ready).toBe('Z:I')
    connection.send(parse('', 'listen news'), bind(''), execute, SYNC)
    const extended = await connection.until('Z')
    expect(extended.map((line) => line[0])).toEqual(['E', 'Z'])
    expect(extended[0]).toContain('C0A000')
    connection.send(simpleQuery('begin'), simpleQuery('listen news'))
    await connection.until('Z')
    expect((await connection.until('Z')).at(-1)).toBe('Z:E')
    connection.send(simpleQuery(`rollback; select 'listen news' as allowed; notify news; unlisten *`))
    expect((await connection.until('Z')).at(-1)).toBe('Z:I')
  })
})

describe('an engine that is lost', () => {
  test('a statement over its time is ended, its connection and others go on, data and prepared statements are there', async () => {
    const other = await raw('one')
    other.send(
      simpleQuery('create table kept_rows as select 42 as a'),
      parse('mine', 'select a from kept_rows'),
      SYNC,
    )
    await other.until('Z')
    await other.until('Z')
    const slow = client('one', { connection: { statement_timeout: '300ms' } })
    const timedOut = slow.unsafe(ENDLESS).catch((error: unknown) => error)
    await sleep(50)
    other.send(bind('mine'), execute, SYNC)
    expect((await other.until('Z')).join()).toContain('42')
    expect(await timedOut).toMatchObject({ code: '57014', severity: 'ERROR' })
    expect(await slow`select 1 as again`).toEqual([{ again: 1 }])
  })

  test('a cancel request ends the statement of that connection, with the right secret only', async () => {
    const connection = await raw('one')
    const { key } = connection
    expect(key.length).toBe(8)
    connection.send(simpleQuery(ENDLESS))
    await sleep(300)
    await cancel(Buffer.concat([key.subarray(0, 4), randomBytes(4)]))
    await sleep(100)
    expect(connection.socket.closed).toBe(false)
    await cancel(key)
    const last = await connection.until('Z')
    expect(last.map((line) => line[0])).toEqual(['E', 'Z'])
    expect(last[0]).toContain('SERROR VERROR C57014 Mcanceling statement due to user request')
    expect(last[1]).toBe('Z:I')
    connection.send(simpleQuery('select 7 as same_connection'))
    expect((await connection.until('Z')).join()).toContain('same_connection')
  })

  test('a cancelled statement leaves its connection in a failed transaction, also amid its rows', async () => {
    const sql = client('one', { max: 1 })
    await sql.unsafe('create table written (a int)')
    const connection = await raw('one')
    const answered = async (statement: string) => {
      connection.send(simpleQuery(statement))
      return (await connection.until('Z')).map((line) => line.slice(0, 40))
    }
    expect(await answered('begin')).toContain('Z:T')
    await answered('insert into written values (1)')
    // Some hundred KiB, cut anywhere, and then nothing: more would make this client, which reads slowly, the one that is
    // hung up on.
    connection.send(simpleQuery(`select n from generate_series(1, 20000) n union all ${ENDLESS}`))
    // Before its first row there may be nothing to cancel yet.
    expect((await connection.until('D')).map((line) => line[0])).toEqual(['T', 'D'])
    await cancel(connection.key)
    const rows = (await connection.until('Z')).filter((line) => !line.startsWith('D:'))
    expect(rows.map((line) => line[0])).toEqual(['E', 'Z'])
    expect(rows[0]).toContain('C57014')
    expect(rows.at(-1)).toBe('Z:E')
    expect((await answered('insert into written values (2)')).join()).toContain('C25P02')
    expect(await answered('commit')).toEqual(['C:ROLLBACK ', 'Z:I'])
    expect(await answered('insert into written values (3)')).toContain('Z:I')
    expect(await sql`select a from written`).toEqual([{ a: 3 }])
  })

  test('a cancel request also ends a statement that still waits for its turn', async () => {
    const holder = await raw('one')
    holder.send(simpleQuery('begin'))
    await holder.until('Z')
    const connection = await raw('one')
    connection.send(simpleQuery('select 1'))
    await sleep(100)
    await cancel(connection.key)
    expect((await connection.until('Z')).join()).toContain('C57014')
    holder.send(simpleQuery('commit'))
    expect((await holder.until('Z')).at(-1)).toBe('Z:I')
    connection.send(simpleQuery('select 2 as after'))
    expect((await connection.until('Z')).join()).toContain('after')
  })

  test('SQL that breaks the engine is answered, and the next client has a sound one', async () => {
    await expect(client('one').unsafe(`copy (select 1) to program 'id'`)).rejects.toMatchObject({
      code: '57P02',
    })
    expect(await client('one')`select 1 as sound`).toEqual([{ sound: 1 }])
  })

  test('the least recently used database is closed for another, and opened again with prepared statements', async () => {
    await databases.create('three')
    const [one, two, three] = [client('one'), client('two'), client('three')]
    const ask = async (sql: postgres.Sql) => expect(await sql`select ${7}::int as n`).toEqual([{ n: 7 }])
    await ask(two)
    await ask(one)
    await three.unsafe('create table old (a int)')
    expect(existsSync(join(home, 'databases', 'two', 'postmaster.pid'))).toBe(false)
    expect(existsSync(join(home, 'databases', 'one', 'postmaster.pid'))).toBe(true)
    await ask(two)
  })
})

describe('nonsense', () => {
  const long = Buffer.concat([int32(0x7fffffff), randomBytes(20)])
  const before: [string, Uint8Array][] = [
    ['random bytes', randomBytes(200)],
    ['a web request', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')],
    ['a packet that is too long', long],
    ['a packet that is too short', int32(3)],
    ['no user', startupPacket({})],
    ['no end of the parameters', Buffer.concat([int32(16), int32(196608), Buffer.from('userxyzt')])],
    ['a short cancel request', Buffer.concat([int32(8), int32(80877102)])],
    [
      'encryption asked for without end',
      Buffer.concat(Array.from({ length: 9 }, () => Buffer.concat([int32(8), int32(80877103)]))),
    ],
  ]
  test.each(before)('%s instead of a login ends the connection', async (_, bytes) => {
    const connection = await rawClient(databases.port)
    connection.send(bytes)
    await connection.closed
    expect(connection.socket.closed).toBe(true)
  })

  const after: [string, Uint8Array][] = [
    ['an unknown message', message('y', Buffer.from('x'))],
    ['a message that is too long', Buffer.concat([Buffer.from('Q'), long])],
    ['a length of zero', Buffer.from('Q\0\0\0\0')],
    ['a name without end', message('P', Buffer.from('abc'))],
  ]
  test.each(after)('%s ends the connection', async (_, bytes) => {
    const connection = await raw('one')
    connection.send(bytes)
    expect((await connection.until('E')).at(-1)).toContain('SFATAL VFATAL C08P01')
    await connection.closed
  })

  test('malformed messages of known kinds are answered by an error, and others are not disturbed', async () => {
    const bodies = [
      Buffer.alloc(0),
      Buffer.from('\0'),
      Buffer.from('\0\0\u007f\u007f', 'latin1'),
      randomBytes(50),
    ]
    for (const type of ['B', 'D', 'E', 'C', 'P', 'F', 'Q']) {
      for (const body of bodies) {
        const sender = await raw('one')
        sender.send(message(type, body), SYNC)
        await sender.until('Z')
        sender.socket.destroy()
      }
    }
    expect(await client('one')`select 1 as undisturbed`).toEqual([{ undisturbed: 1 }])
  })

  test('a connection that is cut in the middle of a message leaves nothing behind', async () => {
    const connection = await raw('one')
    connection.send(simpleQuery('select 1').subarray(0, 8))
    connection.socket.resetAndDestroy()
    await connection.closed
    expect(await client('one')`select 1 as fine`).toEqual([{ fine: 1 }])
  })
})

describe('folders', () => {
  test('create and remove may be repeated, a removed database ends its connections and can be made anew', async () => {
    const connection = await raw('three')
    await databases.create('three')
    await databases.remove('three')
    await databases.remove('three')
    await connection.closed
    expect(await readdir(join(home, 'databases'))).not.toContain('three')
    // A folder that was lost is not silently replaced by an empty one.
    await expect(client('three')`select 1`).rejects.toMatchObject({ code: '58000' })
    beingMade.add('three')
    // Made for whoever may log in: the process that wrote down the login need not be the one that has the folder.
    expect(await client('three')`select to_regclass('old') as there`).toEqual([{ there: null }])
    await expect(async () => databases.create('../three')).rejects.toThrow('not the name')
  })

  test('leftovers of a killed process are removed, an idle database is closed, a program that closes its databases ends by itself', async () => {
    const folder = join(home, 'other')
    await mkdir(join(folder, 'half.partial-abc'), { recursive: true })
    await mkdir(join(folder, '.template-18'))
    const run = `const { openEmbeddedDatabases } = await import('${new URL('./embedded-databases.ts', import.meta.url).href}')
const { default: postgres } = await import('${import.meta.resolve('postgres')}')
const databases = await openEmbeddedDatabases({ folder: process.argv[1], host: '127.0.0.1', port: 0,
  loginOf: async () => ({ verifier: process.argv[2], orgId: 'org' }), saltKey: new Uint8Array(32), idleMs: 100 })
const { existsSync } = await import('node:fs')
await databases.create('one')
const sql = postgres({ host: '127.0.0.1', port: databases.port, user: 'one', database: 'one', password: '${PASSWORD}', max: 2 })
await Promise.all([sql\`select 1\`, sql\`select 2\`])
while (existsSync(process.argv[1] + '/one/postmaster.pid')) await new Promise((settle) => setTimeout(settle, 50))
await databases.close()
await sql.end({ timeout: 0 })`
    execFileSync(process.execPath, ['--input-type=module', '-e', run, folder, verifier], { timeout: 25_000 })
    expect((await readdir(folder)).toSorted()).toEqual(['one'])
    expect(existsSync(join(folder, 'one', 'postmaster.pid'))).toBe(false)
  })
})

test('one that has outgrown its buffers has more of them as soon as nobody has used it for a while', async () => {
  const own = await openEmbeddedDatabases({ ...options(join(home, 'growing')), outgrownIdleMs: 20 })
  await own.create('one')
  const sql = client('one', { port: own.port })
  const buffers = async () => {
    const [row] = await sql<{ shared_buffers: string }[]>`show shared_buffers`
    return Number.parseInt(row!.shared_buffers, 10)
  }
  expect(await buffers()).toBe(16)
  // Used or not, as long as it fits.
  await sleep(200)
  expect(await buffers()).toBe(16)
  await sql`create table pages as select repeat(md5(at::text), 30) as text from generate_series(1, 25000) as at`
  await expect.poll(buffers, { interval: 300, timeout: 20_000 }).toBeGreaterThan(40)
  expect(await sql`select count(*)::int as count from pages`).toEqual([{ count: 25_000 }])
  await sql.end()
  await own.close()
}, 60_000)
