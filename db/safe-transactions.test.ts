import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql as text } from './drizzle.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPostgres, type TestPostgres } from '../test/support/postgres.ts'
import { connect, type Connection, type SqlQueries } from './connect.ts'
import { runCall } from './current-call.ts'

let server: TestPostgres
let direct: Connection
beforeAll(async () => {
  server = await startPostgres()
  direct = await connect({ url: server.url })
  await direct.sql.query('create table story (id int, part text)')
})
afterAll(async () => {
  await direct.close()
  await server.stop()
})

/** What broke: BEGIN as the query that filled the pipeline ran without a connection of its own. */
test('a transaction behind any number of waiting questions has its connection to itself', async () => {
  const { sql, close } = await connect({ url: server.url }, { poolSize: 1 })
  await sql.query('select 1')
  for (const waiting of [98, 99, 100, 101, 102]) {
    const questions = Array.from({ length: waiting }, () => sql.query('select 1').then(() => {}))
    await Promise.resolve()
    const [row] = await sql.transaction((tx) => tx.query<{ id: number }>('select 1 as id'))
    expect(row).toEqual({ id: 1 })
    await Promise.all(questions)
  }
  await close()
})

test('a transaction whose server process ends fails with the loss, and the next one works', async () => {
  const { db, close } = await connect({ url: server.url }, { poolSize: 1 })
  const lost = db.transaction(async (tx) => {
    const [me] = await tx.execute<{ pid: number }>(text`select pg_backend_pid() as pid`)
    await tx.execute(text`insert into story values (-1, 'a')`)
    setTimeout(() => void direct.sql.query('select pg_terminate_backend($1)', [String(me?.pid)]), 50)
    await tx.transaction((inner) => inner.execute(text`select pg_sleep(5)`))
  })
  await expect(lost).rejects.toMatchObject({ code: 'DATABASE_AWAY' })
  await expect
    .poll(() => db.transaction((tx) => tx.execute(text`select 1 as x`)).catch(() => 'not yet'))
    .toEqual([{ x: 1 }])
  expect(await direct.sql.query('select * from story where id = -1')).toEqual([])
  await close()
})

/** What may wait for a standby is not given the last connections. */
const locallyIn = <T>(work: () => Promise<T>): Promise<T> =>
  runCall((call) => {
    call.durability = 'local'
    return work()
  })

/** What broke: queries sent between the error of a connection and its close waited for ever, and so did their connection. */
test.each([
  ['named statements', true],
  ['none, as behind a pooler', false],
])(
  'connections that the server ends under load answer everybody, and are used again (%s)',
  async (_, prepare) => {
    const POOL = 5
    const { db, sql, close } = await connect({ url: server.url }, { poolSize: POOL, prepare })
    const storm = new AbortController()
    const wrong: unknown[] = []
    let asked = 0
    const ask = async () => {
      while (!storm.signal.aborted) {
        const n = ++asked
        await db.execute<{ n: number }>(text`select ${n}::int as n`).then(
          ([row]) => row?.n === n || wrong.push(row),
          () => {},
        )
      }
    }
    const lanes = Array.from({ length: 4 * POOL }, ask)
    for (let round = 0; round < 30; round++) {
      await sleep(50)
      await direct.sql.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and application_name = 'svc'`,
      )
    }
    storm.abort()
    await Promise.all(lanes)
    expect(wrong).toEqual([])
    const asleep = async (tx: SqlQueries) => {
      const [me] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid, pg_sleep(0.5)')
      return me?.pid
    }
    // One that was ended last may not know it yet.
    const distinct = () =>
      Promise.all(Array.from({ length: POOL }, () => locallyIn(() => sql.transaction(asleep)))).then(
        (pids) => new Set(pids).size,
        () => 'not yet',
      )
    await expect.poll(distinct, { timeout: 10_000 }).toBe(POOL)
    await close()
  },
)

/** What broke: the driver's ROLLBACK ended the process, connections never came back, halves joined other stories. */
test('connections that are cut again and again under load leave whole stories and a pool that works', async () => {
  const line = await cuttable(Number(new URL(server.url).port))
  const { db, sql, close } = await connect({ url: line.url(server.url) }, { poolSize: 3 })
  const storm = new AbortController()
  let told = 0
  const tell = async (teller: number) => {
    while (!storm.signal.aborted) {
      const id = ++told
      const telling =
        teller % 3 === 0
          ? db.transaction(async (tx) => {
              await tx.execute(text`insert into story values (${id}, 'beginning')`)
              if (id % 2) await sleep(1)
              await tx.execute(text`insert into story values (${id}, 'end')`)
            })
          : sql.query('select $1::text', [String(id)])
      await (telling as Promise<unknown>).catch(() => {})
    }
  }
  const tellers = Array.from({ length: 24 }, (_, teller) => tell(teller))
  for (let cuts = 0; cuts < 16; cuts++) {
    await sleep(60)
    line.cut(cuts % 2 === 0)
  }
  await sleep(200)
  storm.abort()
  await Promise.all(tellers)
  const answers = await Promise.all(Array.from({ length: 6 }, () => sql.query('select 1 as x')))
  expect(answers.flat()).toEqual(Array.from({ length: 6 }, () => ({ x: 1 })))
  expect(
    await direct.sql.query('select id from story where id > 0 group by id having count(*) <> 2'),
  ).toEqual([])
  await close()
  line.close()
})

/** A line to the server that can be cut, politely or by a reset. */
async function cuttable(port: number) {
  const near = new Set<net.Socket>()
  const proxy = net.createServer((socket) => {
    const far = net.connect(port, '127.0.0.1')
    socket.pipe(far).pipe(socket)
    for (const end of [socket, far]) end.on('error', () => {})
    far.on('close', () => socket.destroy())
    near.add(socket)
    socket.on('close', () => {
      near.delete(socket)
      far.destroy()
    })
  })
  await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening))
  return {
    url(server: string) {
      const url = new URL(server)
      url.port = String((proxy.address() as net.AddressInfo).port)
      return url.href
    },
    cut(reset: boolean) {
      for (const socket of near) socket[reset ? 'resetAndDestroy' : 'destroy']()
    },
    close: () => proxy.close(),
  }
}

test.each([true, false])(
  'a pool that is closed answers everybody who waits (prepare: %s)',
  async (prepare) => {
    const { db, close } = await connect({ url: server.url }, { poolSize: 3, prepare })
    const asked = [
      ...Array.from({ length: 30 }, () => db.execute(text`select pg_sleep(0.05)`)),
      ...Array.from({ length: 10 }, () => db.transaction((tx) => tx.execute(text`select pg_sleep(0.05)`))),
    ]
    const answered = Promise.allSettled(asked)
    await sleep(20)
    await close()
    expect(await answered).toHaveLength(40)
  },
)

test('behind a pooler a transaction takes one place: of one connection and of two, as many at once as come', async () => {
  for (const poolSize of [1, 2]) {
    const { db, close } = await connect({ url: server.url }, { poolSize, prepare: false })
    const five = Array.from({ length: 5 }, () => db.transaction((tx) => tx.execute('select 1 as one')))
    expect(await Promise.all(five)).toEqual(five.map(() => [{ one: 1 }]))
    await close()
  }
})

test('an address with several hosts, or with options, is refused with a sentence and without its password', async () => {
  for (const url of ['postgres://a:hush@h1,h2/svc', 'postgres://a:hush@h1/svc?options=-cwork_mem%3D1']) {
    const failure = await connect({ url }).catch(String)
    expect(failure).toMatch(/The database address (names several hosts|has options)/)
    expect(failure).not.toContain('hush')
  }
})
