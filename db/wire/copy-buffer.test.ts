import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rawClient, type RawClient } from '../../test/support/wire-client.ts'
import { createBackend, type Engine } from './backend.ts'
import { readMessages } from './message-reader.ts'
import type { Client } from './prepared-statements.ts'
import {
  cString,
  errorResponse,
  message,
  readyForQuery,
  simpleQuery,
  WireError,
} from './protocol-messages.ts'
import { startSession, type Session } from './session.ts'
import { shareBuffer, type SharedBuffer } from './shared-buffer.ts'

const MIB = 1024 * 1024
const SHUTDOWN = new WireError('57P01', 'shutdown', { fatal: true })
const DATA = message('d', Buffer.alloc(1000))

/** What the engine got with the last COPY. */
let copied: readonly Uint8Array[] = []

/** Answers every COPY at once, except into the tables `hang`, `fail` and `broken`. */
function fakeEngine(): Engine {
  let abort: (reason: Error) => void = () => {}
  return {
    async run({ bytes, copy }, onAnswer) {
      const text = Buffer.from(bytes).toString('latin1')
      copied = copy ?? []
      if (copy && text.includes('hang')) return new Promise((_, reject) => (abort = reject))
      if (copy && text.includes('broken')) throw new Error('broken')
      const failure =
        copy && text.includes('fail') ? errorResponse(new WireError('22P02', 'no')) : Buffer.alloc(0)
      onAnswer(Buffer.concat([failure, readyForQuery('I')]), () => {})
    },
    async terminate() {
      abort(new Error('terminated'))
    },
    async stop() {},
  }
}

const backend = createBackend({
  open: async () => fakeEngine(),
  closed() {},
  becameIdle() {},
  onProblem() {},
})
const newClient = (): Client => ({ settings: [], statements: new Map(), parsed: new Set(), epoch: 0 })
let buffer: SharedBuffer = shareBuffer()('org')
const limits = { statementMs: 5_000, idleInTransactionMs: 5_000, waitMs: 5_000 }
let ownLimits = limits
const sessions: Session[] = []
const server = createServer((socket: Socket) => {
  sessions.push(
    startSession({
      socket: socket.on('error', () => {}),
      reader: readMessages(socket),
      backend,
      client: newClient(),
      prefix: 'p',
      limits: ownLimits,
      copyBuffer: buffer,
      messageBuffer: shareBuffer()('org'),
      onProblem() {},
    }),
  )
})

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => void server.close())

type Copying = RawClient & { readonly session: Session }

/** A client in the middle of a COPY, with data that has arrived. */
async function copying(table: string): Promise<Copying> {
  const free = buffer.freeBytes
  const client = await rawClient((server.address() as AddressInfo).port)
  client.send(simpleQuery(`copy ${table} from stdin`), DATA, DATA)
  await client.until('G')
  await expect.poll(() => buffer.freeBytes).toBe(free - 2000)
  return Object.assign(client, { session: sessions.at(-1)! })
}

/** Each from a COPY in the middle to its end. */
const ENDINGS: Record<string, (client: Copying) => Promise<unknown> | void> = {
  loaded: (client) => client.send(message('c')),
  'given up by the client': (client) => client.send(message('f', cString('no'))),
  'with a connection that is cut': (client) => void client.socket.destroy(),
  'with half a message': (client) => void client.socket.end(DATA.subarray(0, 20)),
  'with a message that does not belong there': (client) => client.send(message('y')),
  'with a goodbye': (client) => client.send(message('X')),
  'by a shutdown': ({ session }) => session.terminate(SHUTDOWN),
}
const ENDINGS_OF_OTHERS: Record<string, [table: string, end: (client: Copying) => Promise<unknown> | void]> =
  {
    'by an error': ['fail', (client) => client.send(message('c'))],
    'with the engine': ['broken', (client) => client.send(message('c'))],
    'by a cancel request': [
      'hang',
      async (client) => {
        client.send(message('c'))
        await expect.poll(() => backend.idle).toBe(false)
        client.session.cancel()
      },
    ],
  }

describe('the buffer of COPY is given back when it ends', () => {
  const cases = [
    ...Object.entries(ENDINGS).map(([how, end]) => [how, 't', end] as const),
    ...Object.entries(ENDINGS_OF_OTHERS).map(([how, [table, end]]) => [how, table, end] as const),
  ]
  test.each(cases)('%s', async (_how, table, end) => {
    const free = buffer.freeBytes
    const client = await copying(table)
    await end(client)
    await expect.poll(() => buffer.freeBytes, { timeout: 5_000 }).toBe(free)
    client.socket.destroy()
    await client.session.done
    expect(buffer.freeBytes, 'and not twice').toBe(free)
  })

  test('because its client says nothing more', async () => {
    ownLimits = { ...limits, idleInTransactionMs: 100 }
    const free = buffer.freeBytes
    const client = await copying('t')
    ownLimits = limits
    await client.session.done
    expect(buffer.freeBytes).toBe(free)
  })

  test('because the database is busy', async () => {
    const holder = newClient()
    await backend.take(holder, 1_000)
    ownLimits = { ...limits, waitMs: 50 }
    const free = buffer.freeBytes
    const client = await copying('t')
    ownLimits = limits
    client.send(message('c'))
    expect((await client.until('Z')).join()).toContain('57P03')
    expect(buffer.freeBytes).toBe(free)
    backend.release(holder)
    client.socket.destroy()
  })

  test('because there is no room for more', async () => {
    const whole = buffer
    let taken = 0
    buffer = {
      get freeBytes() {
        return 2500 - taken
      },
      take: (bytes) => void (taken += bytes),
      giveBack: (bytes) => void (taken -= bytes),
    }
    const client = await copying('t')
    client.send(DATA, message('c'))
    await client.until('Z')
    expect(taken).toBe(0)
    client.socket.destroy()
    buffer = whole
  })
})

/** A message of a byte or none took an array of its own, and next to nothing was counted for it. */
test('short messages are kept in few pieces, in their order, and empty ones not at all', async () => {
  const free = buffer.freeBytes
  const client = await rawClient((server.address() as AddressInfo).port)
  const bytes = (count: number) => Array.from({ length: count }, (_, at) => Buffer.from([at % 251]))
  const parts = [...bytes(20_000), Buffer.alloc(100_000, 'x'), ...bytes(10)]
  const data = parts.flatMap((part) => [message('d', part), message('d')])
  client.send(simpleQuery('copy t from stdin'), Buffer.concat(data))
  await client.until('G')
  await expect.poll(() => buffer.freeBytes).toBe(free - 120_010)
  client.send(message('c'))
  await client.until('Z')
  expect(copied.length).toBeLessThanOrEqual(3)
  expect(Buffer.concat(copied).equals(Buffer.concat(parts))).toBe(true)
  expect(buffer.freeBytes).toBe(free)
  client.send(simpleQuery('copy t from stdin'), message('d'), message('d'), message('c'))
  await client.until('Z')
  expect(copied).toEqual([])
  client.socket.destroy()
})

test('one organization cannot take all of the buffer', () => {
  const bufferOf = shareBuffer()
  const [one, same, other] = [bufferOf('one'), bufferOf('one'), bufferOf('other')]
  one.take(200 * MIB)
  same.take(56 * MIB)
  expect([one.freeBytes, other.freeBytes]).toEqual([0, 256 * MIB])
  other.take(100 * MIB)
  bufferOf('third').take(100 * MIB)
  expect(bufferOf('fourth').freeBytes).toBe(56 * MIB)
  one.giveBack(200 * MIB)
  expect([same.freeBytes, bufferOf('fourth').freeBytes]).toEqual([200 * MIB, 256 * MIB])
})
