import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { openGateway, type Gateway } from './gateway.ts'
import { rawClient, startupPacket, type RawClient } from '../../test/support/wire-client.ts'
import { int32, readyForQuery, simpleQuery, SYNC } from './protocol-messages.ts'
import { scramVerifier } from './scram.ts'
import type { OnAnswer } from './whole-messages.ts'

const MIB = 1024 * 1024
const verifier = scramVerifier('secret')
/** Of those whose password was rotated. */
const rotated = new Map<string, string>()
/** Between reading a login and having it. */
let loginRead = async () => {}
let gateway: Gateway

/** How long each statement may take. */
const limits: number[] = []
const backend = {
  take: async () => {},
  async run(_client: unknown, _work: unknown, limitMs: number, onAnswer: OnAnswer) {
    limits.push(limitMs)
    onAnswer(readyForQuery('I'), () => {})
    return { status: 'I', failure: undefined }
  },
  release() {},
  doubtStatements() {},
  leave: async () => {},
}

beforeAll(async () => {
  gateway = await openGateway({
    host: '127.0.0.1',
    port: 0,
    async loginOf(name) {
      const login = { verifier: rotated.get(name) ?? verifier, orgId: name.charAt(0) }
      await loginRead()
      return login
    },
    saltKey: new Uint8Array(32),
    backendOf: () => backend as never,
    statementTimeoutMs: 1000,
    maintenanceTimeoutMs: 60_000,
    idleInTransactionMs: 1000,
    loginTimeoutMs: 2_000,
    maxConnections: 60,
    onProblem(problem) {
      throw problem
    },
  })
})
afterAll(() => gateway.close())

const many = (count: number) => Promise.all(Array.from({ length: count }, () => rawClient(gateway.port)))
const leave = async (clients: readonly RawClient[]) => {
  for (const { socket } of clients) socket.destroy()
  await Promise.all(clients.map(({ closed }) => closed))
}

test.runIf(inject('everyCase'))(
  'a database has 20 connections, all together have as many as set, and who leaves makes room',
  async () => {
    const clients: RawClient[] = []
    const answers: string[] = []
    for (let index = 0; index < 62; index += 1) {
      const client = await rawClient(gateway.port)
      clients.push(client)
      const database = index < 22 ? 'a' : index < 42 ? 'b' : 'c'
      answers.push((await client.login(database, 'secret')).at(-1) ?? '')
    }
    expect(answers.map((answer) => (answer === 'Z:I' ? 'in' : /C(\w+)/.exec(answer)?.[1]))).toEqual([
      ...Array.from({ length: 20 }, () => 'in'),
      '53300',
      '53300',
      ...Array.from({ length: 40 }, () => 'in'),
    ])
    const [late] = await many(1)
    expect((await late?.login('d', 'secret'))?.at(-1)).toContain('C53300')
    await leave(clients)
    await expect
      .poll(async () => (await (await rawClient(gateway.port)).login('a', 'secret')).at(-1))
      .toBe('Z:I')
  },
)

test('an organization has 40 connections to its databases, and another one gets in', async () => {
  const clients: RawClient[] = []
  const answers: string[] = []
  for (let index = 0; index < 51; index += 1) {
    const client = await rawClient(gateway.port)
    clients.push(client)
    const database = index === 50 ? 'y1' : `x${index % 5}`
    answers.push((await client.login(database, 'secret')).at(-1) ?? '')
  }
  const inside = answers.map((answer) => answer === 'Z:I')
  expect(inside.slice(0, 50).filter(Boolean)).toHaveLength(40)
  expect(inside.indexOf(false)).toBe(40)
  expect(inside[50]).toBe(true)
  await leave(clients)
})

test('a login opens the database of its own name, and no other', async () => {
  const [own, another] = [await rawClient(gateway.port), await rawClient(gateway.port)]
  expect((await own.login('a', 'secret', { database: 'a' })).at(-1)).toBe('Z:I')
  expect((await another.login('a', 'secret', { database: 'b' })).at(-1)).toContain('C28P01')
  await leave([own, another])
})

test('a client may set less time than it has, and not more', async () => {
  for (const [application_name, statement_timeout, ms] of [
    ['psql', '5s', 5_000],
    ['psql', '1h', 60_000],
    ['psql', '0', 60_000],
    ['svc', '1h', 1_000],
    ['svc load', '1h', 60_000],
  ] as const) {
    const client = await rawClient(gateway.port)
    await client.login('t', 'secret', { application_name, statement_timeout })
    client.send(simpleQuery('select 1'))
    await client.until('Z')
    expect([application_name, statement_timeout, limits.at(-1)]).toEqual([
      application_name,
      statement_timeout,
      ms,
    ])
    await leave([client])
  }
})

describe('a password that is rotated', () => {
  const other = scramVerifier('other')
  const login = async (name: string, password: string, beforeProof?: () => Promise<unknown>) => {
    const client = await rawClient(gateway.port)
    return { ...client, answer: (await client.login(name, password, {}, beforeProof)).at(-1) }
  }
  const alive = async (client: RawClient) => {
    client.send(SYNC)
    return (await client.until('Z')).at(-1)
  }

  test('opens nothing for a client that was logging in with it', async () => {
    const rotate = async () => {
      rotated.set('r1', other)
      await gateway.disconnect('r1')
    }
    expect((await login('r1', 'secret', rotate)).answer).toContain('C28P01')
    const after = await login('r1', 'other')
    expect(after.answer).toBe('Z:I')
    await leave([after])
  })

  test('opens nothing either for one whose login had just been read again, and nothing it sent is run', async () => {
    const late = await rawClient(gateway.port)
    late.socket.setNoDelay()
    const before = limits.length
    const rotate = async () => {
      loginRead = async () => {}
      late.send(simpleQuery('delete'))
      // By now the server has that, too.
      await leave([await login('r3', 'secret')])
      rotated.set('r2', other)
      await gateway.disconnect('r2')
    }
    const answers = await late.login('r2', 'secret', {}, async () => (loginRead = rotate))
    await late.closed
    expect(answers).not.toContain('Z:I')
    expect(limits).toHaveLength(before)
  })

  test('by another process ends connections as soon as that is looked for', async () => {
    const before = await login('r3', 'secret')
    const neighbor = await login('r4', 'secret')
    rotated.set('r3', other)
    const after = await login('r3', 'other')
    let meanwhile: RawClient | undefined
    await gateway.disconnectRotated(async (names) => {
      expect(names.filter((name) => name.startsWith('r')).toSorted()).toEqual(['r3', 'r4'])
      const read = new Map(names.map((name) => [name, rotated.get(name) ?? verifier]))
      rotated.set('r4', other)
      meanwhile = await login('r4', 'other')
      return read
    })
    expect((await before.until('E')).join()).toContain('SFATAL VFATAL C57P01')
    await before.closed
    expect(await Promise.all([after, neighbor, meanwhile!].map(alive))).toEqual(['Z:I', 'Z:I', 'Z:I'])
    await gateway.disconnectRotated(
      async (names) =>
        new Map(names.map((name) => [name, name === 'r4' ? '' : (rotated.get(name) ?? verifier)])),
    )
    await Promise.all([neighbor, meanwhile!].map(({ closed }) => closed))
    expect(await alive(after)).toBe('Z:I')
    await leave([after])
  })
})

test('an organization has only so many large messages under way, another one has room, and so has who comes after', async () => {
  const login = async (name: string) => {
    const client = await rawClient(gateway.port)
    expect((await client.login(name, 'secret')).at(-1)).toBe('Z:I')
    return client
  }
  /** A query that has only begun; the answer to the Sync comes as it is read. */
  const begin = async (client: RawClient, bytes: number) => {
    client.send(SYNC, Buffer.from('Q'), int32(bytes))
    expect((await client.until('Z')).at(-1)).toBe('Z:I')
  }
  const large = simpleQuery('x'.repeat(20 * MIB))
  const holders = await Promise.all(['l1', 'l1', 'l2', 'l3'].map(login))
  await Promise.all(holders.map((holder) => begin(holder, 60 * MIB)))
  const refused = await login('l4')
  await begin(refused, 20 * MIB)
  expect((await refused.until('?')).at(-1)).toContain('SFATAL VFATAL C53200')

  const [another, same] = [await login('m1'), await login('l4')]
  another.send(large)
  expect((await another.until('Z')).at(-1)).toBe('Z:I')
  same.send(simpleQuery('short'))
  expect((await same.until('Z')).at(-1)).toBe('Z:I')
  await leave(holders.slice(0, 1))
  for (let time = 0; time < 5; time += 1) {
    same.send(large)
    expect((await same.until('Z')).at(-1), 'also as often as one likes').toBe('Z:I')
  }
  await leave([...holders.slice(1), another, same])
})

describe('clients that have not logged in', () => {
  /** Sockets that say nothing, or that begin to log in and say nothing more. */
  const silent = async (count: number, localAddress = '127.0.0.1', opening?: Buffer) => {
    const clients = await Promise.all(
      Array.from({ length: count }, () => rawClient(gateway.port, { localAddress })),
    )
    if (opening) for (const client of clients) client.send(opening)
    return clients
  }
  const loginOf = async (name: string, localAddress = '127.0.0.1') =>
    (await (await rawClient(gateway.port, { localAddress })).login(name, 'secret')).at(-1)
  const stillOpen = (clients: readonly RawClient[]) => clients.filter(({ socket }) => !socket.closed).length

  test('lock nobody out, and the ones that were silent the longest go', async () => {
    const inside = await rawClient(gateway.port)
    expect((await inside.login('c', 'secret')).at(-1)).toBe('Z:I')
    const first = await silent(60)
    expect(await loginOf('c')).toBe('Z:I')
    await expect.poll(() => stillOpen(first)).toBeLessThanOrEqual(50)
    const closed = first.map(({ socket }) => socket.closed)
    expect(closed.lastIndexOf(true), 'the oldest').toBeLessThan(closed.indexOf(false))
    const half = await silent(60, '127.0.0.1', startupPacket({ user: 'c', database: 'c' }))
    expect(await loginOf('c'), 'also among those that began to log in').toBe('Z:I')
    expect(inside.socket.closed).toBe(false)
    await leave([...first, ...half])
  })

  test('give way to one that goes on with its login, not the other way round', async () => {
    const honest = await rawClient(gateway.port)
    const others = await silent(48)
    // Sockets are accepted in the order they came: now all of these are.
    expect(await loginOf('c')).toBe('Z:I')
    honest.send(startupPacket({ user: 'c', database: 'c' }))
    expect((await honest.until('R'))[0]).toContain('SCRAM-SHA-256')
    const more = await silent(40)
    await expect.poll(() => stillOpen([...others, ...more])).toBe(49)
    expect(honest.socket.closed).toBe(false)
    await leave([honest, ...others, ...more])
  })

  test('of one address never take the room of another', async () => {
    const other = await silent(3, '127.0.0.2')
    const floods = await Promise.all([3, 4, 5, 6].map((n) => silent(60, `127.0.0.${n}`)))
    await expect.poll(() => stillOpen(floods.flat())).toBeLessThanOrEqual(197)
    expect(stillOpen(other)).toBe(3)
    expect(await loginOf('c', '127.0.0.2')).toBe('Z:I')
    expect(await loginOf('c', '127.0.0.7')).toBe('Z:I')
    expect(stillOpen(other)).toBe(3)
    await leave([...other, ...floods.flat()])
  })

  test('do not stay, and leave no count behind', async () => {
    const waiting = await silent(5)
    await Promise.all(waiting.map(({ closed }) => closed))
    const next = await silent(50)
    await expect.poll(() => stillOpen(next)).toBe(50)
    await leave(next)
  })
})
