import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openPool, type Target } from './open-pool.ts'
import { openSocket } from './open-socket.ts'

const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end()
})

/** Answers each piece that a client sends, in order, with the next of these; then it is silent. */
async function fakeServer(...answers: (Buffer | string)[]): Promise<number> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    const left = [...answers]
    open.add(socket.on('error', () => {}))
    socket.on('data', () => {
      const next = left.shift()
      if (next !== undefined) socket.write(next)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  endings.push(() => {
    for (const socket of open) socket.destroy()
    return new Promise((closed) => server.close(closed))
  })
  return (server.address() as AddressInfo).port
}

const targetAt = (port: number, more: Partial<Target> = {}): Target => ({
  host: '127.0.0.1',
  port,
  user: 'u',
  password: 'p',
  database: 'd',
  ssl: 'disable',
  ...more,
})

function poolAt(port: number, statementTimeoutMs = 1_000) {
  const pool = openPool(targetAt(port), { statementTimeoutMs, max: 1, idleSeconds: 5, parameters: {} })
  endings.push(() => pool.end())
  return pool
}

const LOGGED_IN = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1')
const COSTLY_BODY = '\0\0\0\x0br=a,s=c2FsdA==,i=2000000000'
const COSTLY = Buffer.from(`R\0\0\0${String.fromCharCode(COSTLY_BODY.length + 4)}${COSTLY_BODY}`, 'latin1')
const ASKS_SASL = Buffer.from('R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0', 'latin1')

/** What a hostile server may send. By its source the bare driver hangs on these, ends the process, or fills its memory. */
test.each([
  ['asks for two billion rounds of hashing', [ASKS_SASL, COSTLY]],
  ['does so after the login', [LOGGED_IN, COSTLY]],
  ['cuts a login message short', [Buffer.from('R\0\0\0\x04', 'latin1')]],
  ['sends a challenge without a salt', [ASKS_SASL, Buffer.from('R\0\0\0\x0b\0\0\0\x0br=a', 'latin1')]],
  ['names a column without end', [LOGGED_IN, Buffer.from('T\0\0\0\x09\0\x01abc', 'latin1')]],
  ['announces a row of four gigabytes', [LOGGED_IN, Buffer.from('D\xff\xff\xff\xff', 'latin1')]],
])('a server that %s is hung up on, each time anew', async (_what, answers) => {
  const pool = poolAt(await fakeServer(...answers))
  for (let time = 0; time < 3; time += 1) {
    await expect(pool.query('select 1')).rejects.toMatchObject({ code: 'PROTOCOL_VIOLATION' })
  }
})

test('a server that never answers is an error in time, and does not keep its place in the pool', async () => {
  // The grace is five seconds; a fake server does not mind a time-out that takes most of it away.
  const pool = poolAt(await fakeServer(LOGGED_IN), -4_900)
  for (let time = 0; time < 3; time += 1) {
    await expect(pool.query('select 1')).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  }
})

const failureOf = async (target: Target): Promise<unknown> => {
  const socket = await openSocket(target, 100)
  const [error] = (await once(socket, 'error').catch((thrown: unknown) => [thrown])) as [{ code?: string }]
  return error.code
}

test('names that nobody answers for cost no more than the time there is', async () => {
  const addresses = () => new Promise<string[]>(() => {})
  expect(await failureOf(targetAt(1, { addresses }))).toBe('ETIMEDOUT')
})

test.each([
  ['nothing', [], 'ETIMEDOUT'],
  ['that it has none', ['N'], 'TLS_UNAVAILABLE'],
  ['an error', ['E\0\0\0\x05\0'], 'TLS_UNAVAILABLE'],
  ['yes, and more that is not yet in TLS', ['Sinjected'], 'TLS_UNAVAILABLE'],
])('a server that is asked for TLS and says %s is not spoken to', async (_what, answers, code) => {
  expect(await failureOf(targetAt(await fakeServer(...answers), { ssl: 'require' }))).toBe(code)
})

test('one that fails to look up an address fails with that error', async () => {
  const addresses = () => Promise.reject(Object.assign(new Error('no'), { code: 'ESERVFAIL' }))
  expect(await failureOf(targetAt(1, { addresses }))).toBe('ESERVFAIL')
})
