import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  HOSTILE_MESSAGES,
  startHostilePostgres,
  type HostilePostgres,
} from '../../test/support/hostile-postgres.ts'
import { int32, message } from '../wire/protocol-messages.ts'
import { attachedPools, type AttachedPools } from './attached-thread.ts'

const SETTINGS = { statementTimeoutMs: 1_000, max: 1, idleSeconds: 5, parameters: {}, readOnly: true }
const LOOPBACK = { network: '127.0.0.0', prefix: 8, family: 'ipv4' } as const
const loginAt = (port: number, user = 'u') =>
  ({ host: '127.0.0.1', port, user, password: 'p', database: 'd', ssl: 'disable' }) as const

let hostile: HostilePostgres
const opened: AttachedPools[] = []
const pools = (...given: Parameters<typeof attachedPools>) => {
  const made = attachedPools(...given)
  opened.push(made)
  return made
}
beforeAll(async () => {
  hostile = await startHostilePostgres()
})
afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()))
  await hostile.close()
})

const codeOf = (error: { code?: string }): string => error.code ?? 'without a code'

test('whatever an attached server sends, its question settles, and others on the thread are answered', async () => {
  const { open } = pools([LOOPBACK])
  const cases = Object.keys(HOSTILE_MESSAGES).map((name) => `rows ${name}`)
  const honest = open(loginAt(hostile.port, 'nothing'), SETTINGS)
  const answers = await Promise.all(
    cases.map(async (user) => {
      const pool = open(loginAt(hostile.port, user), SETTINGS)
      const code = await pool.query('select $1', ['1']).then(() => 'answered', codeOf)
      await pool.end()
      return code
    }),
  )
  expect(answers).not.toContain('CONNECTION_ENDED')
  expect(answers[cases.indexOf('rows copy-in')]).toBe('PROTOCOL_VIOLATION')
  expect(await honest.query('select 1')).toEqual([{ shown: '1' }])
})

test('an address that the operator does not allow is not dialed, whatever was checked before', async () => {
  const before = hostile.dials()
  const pool = pools([{ ...LOOPBACK, port: 1 }]).open(loginAt(hostile.port), SETTINGS)
  expect(await pool.query('select 1').catch(codeOf)).toBe('ADDRESS_NOT_ALLOWED')
  expect(hostile.dials()).toBe(before)
})

/** Announces a row of 7.5 MiB, and leaves it at that. */
async function hoardingServer(): Promise<{ port: number; close: () => void }> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket.on('error', () => {}))
    const left = [LOGGED_IN, Buffer.concat([SETTINGS_SHOWN, ANSWER_BEGUN])]
    socket.on('data', () => void (left.length > 0 && socket.write(left.shift()!)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    for (const socket of open) socket.destroy()
    server.close()
  }
  return { port: (server.address() as AddressInfo).port, close }
}
const LOGGED_IN = Buffer.concat([message('R', int32(0)), message('Z', Buffer.from('I'))])
const COLUMNS = message('T', Buffer.from('\0\x01s0\0\0\0\0\0\0\0\0\0\0\x19\0\0\0\0\0\0\0\0', 'latin1'))
const SETTINGS_SHOWN = Buffer.concat([
  COLUMNS,
  message('C', Buffer.from('SELECT 1\0')),
  message('Z', Buffer.from('I')),
])
const ANSWER_BEGUN = Buffer.concat([Buffer.from('D'), int32(7.5 * 1024 * 1024)])

test('servers of one organization that hold all the memory lose their own responses, and nobody else’s', async () => {
  const { open } = pools([LOOPBACK])
  const server = await hoardingServer()
  const settings = { ...SETTINGS, statementTimeoutMs: 20_000 }
  const ask = (owner: string, port: number, user = 'u') =>
    open({ ...loginAt(port, user), owner }, settings)
      .query('select 1')
      .then(() => 'answered', codeOf)
  const ends: string[] = []
  const { promise: fourEnded, resolve } = Promise.withResolvers<void>()
  const hoarding = Array.from({ length: 12 }, async () => {
    if (ends.push(await ask('hoarder', server.port)) === 4) resolve()
  })
  // 64 MiB are eight of them.
  await fourEnded
  expect(ends).toEqual(Array(4).fill('RESPONSE_TOO_LARGE'))
  expect(await ask('honest', hostile.port, 'nothing')).toBe('answered')
  server.close()
  await Promise.all(hoarding)
  expect(ends.filter((code) => code === 'RESPONSE_TOO_LARGE')).toHaveLength(4)
})

const FAILING = new URL('../../test/support/failing-attached-worker.ts', import.meta.url)

test.each(['throw', 'reject', 'exit', 'spin'])(
  'a thread that ends (%s) fails what it was asked, and the next question has a new one',
  async (how) => {
    const { open } = pools([], FAILING, how === 'spin' ? 4_000 : 20_000)
    const [one, other] = [open(loginAt(1), SETTINGS), open(loginAt(2), SETTINGS)]
    const waiting = other.query('wait').catch(codeOf)
    expect(await one.query(how).catch(codeOf)).toBe('CONNECTION_ENDED')
    expect(await waiting).toBe('CONNECTION_ENDED')
    expect(await other.query('again')).toEqual([{ text: 'again' }])
    expect(await one.query('again')).toEqual([{ text: 'again' }])
  },
)

test('a server that keeps ending the thread is left alone, also by a pool that is opened anew; others are not', async () => {
  const { open } = pools([], FAILING)
  for (let time = 0; time < 3; time += 1) {
    const pool = open(loginAt(1), SETTINGS)
    // Asked twice at a time: that is one failure.
    const asked = [pool.query('wait'), pool.query('exit')].map((one) => one.catch(codeOf))
    expect(await Promise.all(asked)).toEqual(['CONNECTION_ENDED', 'CONNECTION_ENDED'])
  }
  expect(await open(loginAt(1), SETTINGS).query('again').catch(codeOf)).toBe('CONNECTION_ENDED')
  expect(await open(loginAt(2), SETTINGS).query('again')).toEqual([{ text: 'again' }])
})

test('the heap of the thread is limited', async () => {
  const [limits] = await pools([], FAILING).open(loginAt(1), SETTINGS).query('limits')
  expect(limits).toMatchObject({ maxOldGenerationSizeMb: 512 })
})

test('a pool that was closed is not opened again by a late question', async () => {
  const { open } = pools([LOOPBACK])
  const pool = open(loginAt(hostile.port, 'nothing'), SETTINGS)
  expect(await pool.query('select 1')).toHaveLength(1)
  await pool.end()
  const before = hostile.dials()
  expect(await pool.query('select 1').catch(codeOf)).toBe('CONNECTION_ENDED')
  expect(hostile.dials()).toBe(before)
})
