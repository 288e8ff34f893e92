import net, { type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql as text } from './drizzle.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { startPostgres, type TestPostgres } from '../test/support/postgres.ts'
import { locally } from './commit-locally.ts'
import { connect, type Connection } from './connect.ts'
import { endCall, hasChanged, runCall } from './current-call.ts'
import { AWAY } from './database-away.ts'

let server: TestPostgres
let direct: Connection
beforeAll(async () => {
  server = await startPostgres()
  direct = await connect({ url: server.url }, { poolSize: 1 })
  await direct.sql.query('create table story (part text)')
})
afterAll(async () => {
  await direct.close()
  await server.stop()
})
beforeEach(async () => {
  while ((await codeOf(direct.sql.query('delete from story'))) !== 'done') await sleep(20)
})

/** The error's code, or that of its cause: Drizzle wraps those of single statements. */
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: Error & { code?: string; cause?: { code?: string } }) => error.cause?.code ?? error.code,
  )
const parts = async () =>
  (await direct.sql.query<{ part: string }>('select part from story')).map(({ part }) => part)

/** A way to the server that can be cut and frozen, either direction by itself. */
async function openWay() {
  const pairs = new Set<{ client: net.Socket; upstream: net.Socket }>()
  const frozen = { answers: false, questions: false }
  const { port } = new URL(server.url)
  const way = net.createServer((client) => {
    const upstream = net.connect(Number(port), '127.0.0.1')
    const pair = { client, upstream }
    pairs.add(pair)
    const forward = (from: net.Socket, to: net.Socket, kind: keyof typeof frozen) => {
      from.on('data', (bytes) => void (frozen[kind] || to.write(bytes)))
      from.on('error', () => {})
      from.on('close', () => {
        pairs.delete(pair)
        to.destroy()
      })
    }
    forward(client, upstream, 'questions')
    forward(upstream, client, 'answers')
  })
  await new Promise<void>((resolve) => way.listen(0, '127.0.0.1', resolve))
  const url = new URL(server.url)
  url.port = String((way.address() as AddressInfo).port)
  const cut = () => {
    for (const { client } of pairs) client.destroy()
  }
  onTestFinished(() => {
    cut()
    way.close()
  })
  return { url: url.href, frozen, cut }
}

async function connected(url: string, poolSize = 2, prepare = true): Promise<Connection> {
  const connection = await connect({ url }, { poolSize, prepare })
  onTestFinished(() => connection.close())
  return connection
}

/** As behind PgBouncer. */
const WITHOUT_NAMES = false

test.each([
  ['with named statements', true],
  ['without', WITHOUT_NAMES],
])(
  'while the server is stopped everybody is told, and what they sent is not done when it is back: %s',
  async (_, prepare) => {
    const { db } = await connected(server.url, 2, prepare)
    await server.halt()
    const writes = Array.from({ length: 2 * AWAY.waiting }, (_, n) => [
      db.execute(text`insert into story values (${`alone ${n}`})`),
      db.transaction((tx) => tx.execute(text`insert into story values (${`together ${n}`})`)),
    ]).flat()
    const told = await Promise.allSettled(writes)
    await server.resume()
    await expect.poll(() => db.execute(text`select 1 as x`).catch(() => 'not yet')).toEqual([{ x: 1 }])
    expect(new Set(told.map((one) => one.status))).toEqual(new Set(['rejected']))
    for (const { reason } of told as PromiseRejectedResult[]) {
      expect([reason.code, reason.cause?.code]).toContain('DATABASE_AWAY')
    }
    await expect.poll(() => parts().catch(() => 'not yet')).toEqual([])
  },
)

describe('a connection that is lost', () => {
  test('before anything was committed: not done', async () => {
    const way = await openWay()
    const { db } = await connected(way.url)
    const lost = db.transaction(async (tx) => {
      await tx.execute(text`insert into story values ('x')`)
      way.cut()
      await tx.execute(text`insert into story values ('y')`)
    })
    await expect(lost).rejects.toMatchObject({ code: 'DATABASE_AWAY' })
    await expect.poll(parts).toEqual([])
  })

  test('while it commits: nobody knows', async () => {
    const way = await openWay()
    const { db } = await connected(way.url)
    const lost = db.transaction(async (tx) => {
      await tx.execute(text`insert into story values ('x')`)
      way.frozen.answers = true
    })
    const told = lost.catch((error: unknown) => error)
    await expect.poll(parts).toEqual(['x'])
    way.cut()
    expect(await told).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  })

  test('under a statement by itself: a write may be done, a question is not', async () => {
    const way = await openWay()
    const { db } = await connected(way.url, 1)
    await db.execute(text`select 1`)
    way.frozen.answers = true
    const write = codeOf(db.execute(text`insert into story values ('x')`))
    await expect.poll(parts).toEqual(['x'])
    // It waits for the same connection.
    const question = codeOf(db.execute(text`select part from story`))
    way.cut()
    expect(await Promise.all([write, question])).toEqual(['OUTCOME_UNKNOWN', 'DATABASE_AWAY'])
    way.frozen.answers = false
    // The question has opened another one meanwhile.
    way.cut()
    await expect.poll(() => db.execute(text`select 1 as x`).catch(() => 'not yet')).toEqual([{ x: 1 }])
  })
})

/** A server that answers whatever comes first with these bytes, and then hangs up or says nothing. */
async function openServer(answer: (socket: net.Socket) => void): Promise<string> {
  const fake = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => answer(socket))
  })
  await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void fake.close())
  return `postgres://svc:secret@127.0.0.1:${(fake.address() as AddressInfo).port}/svc`
}

test('an address at which somebody hangs up is told as such, and not tried without end', async () => {
  const url = await openServer((socket) => socket.end())
  await expect(connect({ url })).rejects.toThrow(
    /Cannot connect to Postgres at 127.0.0.1:\d+\/svc: The server hung up/,
  )
})

test('a standby is not taken', async () => {
  const message = (kind: string, ...parts: (string | number[])[]) => {
    const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
    const length = Buffer.alloc(4)
    length.writeInt32BE(body.length + 4)
    return Buffer.concat([Buffer.from(kind), length, body])
  }
  const url = await openServer((socket) =>
    socket.write(
      Buffer.concat([
        message('R', [0, 0, 0, 0]),
        message('S', 'server_version\0', '17.0\0'),
        message('S', 'in_hot_standby\0', 'on\0'),
        message('Z', 'I'),
      ]),
    ),
  )
  await expect(connect({ url })).rejects.toThrow(/: The server is a standby/)
})

test('a server that freezes is given up, and found again when it thaws', async () => {
  const way = await openWay()
  const { db } = await connected(way.url)
  await db.execute(text`select 1`)
  Object.assign(way.frozen, { answers: true, questions: true })
  const told = await Promise.allSettled([
    db.execute(text`select 2`),
    db.transaction((tx) => tx.execute(text`select 3`)),
  ])
  expect(told.map((one) => one.status)).toEqual(['rejected', 'rejected'])
  Object.assign(way.frozen, { answers: false, questions: false })
  way.cut()
  await expect.poll(() => db.execute(text`select 1 as x`).catch(() => 'not yet')).toEqual([{ x: 1 }])
})

test('a statement that takes long is not taken for a frozen server', async () => {
  const { db } = await connected(server.url)
  expect(await db.execute(text`select pg_sleep(5)::text as slept`)).toEqual([{ slept: '' }])
})

test('a server that takes no writes is left, alone and in a transaction, and is found again when it does', async () => {
  const { db } = await connected(server.url)
  const pids = async () => (await db.execute<{ pid: number }>(text`select pg_backend_pid() as pid`))[0]!.pid
  const before = await pids()
  // For this session, which will have to set it back.
  await direct.sql.query('set default_transaction_read_only = off')
  await direct.sql.query('alter system set default_transaction_read_only = on')
  await direct.sql.query('select pg_reload_conf()')
  const write = () => db.execute(text`insert into story values ('x')`)
  await expect
    .poll(() =>
      write().then(
        () => 'done',
        (error: Error) => error.cause,
      ),
    )
    .toMatchObject({
      code: 'DATABASE_AWAY',
    })
  await expect(
    db.transaction((tx) => tx.execute(text`insert into story values ('x')`)),
  ).rejects.toMatchObject({
    code: 'DATABASE_AWAY',
  })
  await direct.sql.query('alter system reset default_transaction_read_only')
  await direct.sql.query('select pg_reload_conf()')
  await direct.sql.query('delete from story')
  await expect
    .poll(() =>
      write().then(
        () => 'done',
        () => 'away',
      ),
    )
    .toBe('done')
  expect(await pids()).not.toBe(before)
})

describe('a call', () => {
  test('whose time is over while its work waits for a connection: not done', async () => {
    const { db } = await connected(server.url, 1)
    const busy = db.execute(text`select pg_sleep(1)::text`)
    const told = await runCall(async (call) => {
      const work = Promise.all([
        codeOf(db.execute(text`insert into story values ('alone')`)),
        codeOf(db.transaction((tx) => tx.execute(text`insert into story values ('together')`))),
      ])
      await new Promise((resolve) => setImmediate(resolve))
      endCall(call)
      return { codes: await work, changes: call.changes }
    })
    await busy
    await db.execute(text`select 1`)
    expect([told, await parts()]).toEqual([{ codes: [TIMED_OUT, TIMED_OUT], changes: 0 }, []])
  })

  test('whose time is over within a transaction: not done', async () => {
    const { db } = await connected(server.url)
    const late = runCall((call) =>
      codeOf(
        db.transaction(async (tx) => {
          await tx.execute(text`insert into story values ('x')`)
          endCall(call)
        }),
      ),
    )
    expect([await late, await parts()]).toEqual([TIMED_OUT, []])
  })

  test('knows that it has changed something, and not what failed, was read or counts', async () => {
    const { db } = await connected(server.url)
    const changed = (work: () => Promise<unknown>) =>
      runCall(async () => {
        await work().catch(() => {})
        return hasChanged()
      })
    const insert = text`insert into story values ('x')`
    expect(
      await Promise.all([
        changed(() => db.execute(insert)),
        changed(() => db.transaction((tx) => tx.execute(insert))),
        // Of a call that is a part of it.
        changed(() => runCall(() => db.execute(insert))),
        changed(() => db.execute(text`insert into nowhere values ('x')`)),
        changed(() =>
          db.transaction(async (tx) => {
            await tx.execute(insert)
            throw new Error('no')
          }),
        ),
        changed(() => db.transaction((tx) => tx.execute(text`select 1`))),
        changed(() => db.execute(text`insert into story select 'counted' where ${locally}`)),
      ]),
    ).toEqual([true, true, true, false, false, false, false])
  })
})

/** Of the DOM's TimeoutError. */
const TIMED_OUT = 23

/** As of a server that has taken over and still says of itself that it is a standby. */
test('a session whose server cannot be looked at is not used, and whoever waits is told that the database is away', async () => {
  const way = await openWay()
  const { sql, server: own } = await connected(way.url, 1)
  let looks = 0
  own!.watch(async () => {
    looks++
    throw Object.assign(new Error('recovery is in progress'), { code: '55000' })
  })
  way.cut()
  await expect.poll(() => codeOf(sql.query('select 1')).then(() => looks)).toBeGreaterThan(0)
  const insert = sql.query(`insert into story values ('sent')`)
  await expect(insert).rejects.toMatchObject({ code: 'DATABASE_AWAY' })
  expect(await parts()).toEqual([])
  own!.watch(async () => {})
  await expect
    .poll(() => codeOf(sql.query(`insert into story values ('later')`)), { timeout: 10_000 })
    .toBe('done')
  expect(await parts()).toEqual(['later'])
})
