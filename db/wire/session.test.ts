import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { playedTimers } from '../../test/support/played-timers.ts'
import { rawClient } from '../../test/support/wire-client.ts'
import type { Backend } from './backend.ts'
import { readMessages } from './message-reader.ts'
import { message, readyForQuery, simpleQuery, SYNC, WireError } from './protocol-messages.ts'
import { startSession, type Session } from './session.ts'
import { shareBuffer } from './shared-buffer.ts'
import type { OnAnswer } from './whole-messages.ts'

const MIB = 1024 * 1024
/** More than the system takes of what a client does not read. */
const ROWS = 16
const ROW = message('D', Buffer.alloc(MIB))
const SYNCS = 20_000

/** Answers each query with all these rows. */
const backend = {
  take: async () => {},
  async run(_client: unknown, _work: unknown, _limitMs: number, onAnswer: OnAnswer) {
    for (let row = 0; row < ROWS; row += 1) onAnswer(ROW, () => {})
    onAnswer(readyForQuery('I'), () => {})
    return { status: 'I', failure: undefined }
  },
  release() {},
  leave: async () => {},
} as unknown as Backend

const messageBuffer = shareBuffer()('org')

const STALLED_MS = 60_000
const { start: startTimer, pass } = playedTimers()
let socket: Socket
let session: Session
const server = createServer({ noDelay: true }, (accepted) => {
  socket = accepted.on('error', () => {})
  session = startSession({
    socket,
    reader: readMessages(socket),
    backend,
    client: { settings: [], statements: new Map(), parsed: new Set(), epoch: 0 },
    prefix: 'p',
    limits: { statementMs: 5_000, idleInTransactionMs: STALLED_MS, waitMs: 5_000 },
    copyBuffer: shareBuffer()('org'),
    messageBuffer,
    onProblem(problem) {
      throw problem
    },
    startTimer,
  })
})

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => void server.close())

/** A client that reads nothing of a long answer. */
async function stalledClient() {
  const client = await rawClient((server.address() as AddressInfo).port)
  client.socket.pause()
  client.send(simpleQuery('select'))
  await expect.poll(() => socket.writableNeedDrain).toBe(true)
  return client
}

/** The answers of the gateway itself wait for nobody, and piled up until the process died. */
test('a client that does not read its answers is not read either, and gets all of them when it does', async () => {
  const client = await stalledClient()
  const before = socket.writableLength
  client.send(Buffer.concat(Array.from({ length: SYNCS }, () => SYNC)))
  await expect.poll(() => socket.bytesRead).toBeGreaterThan(SYNCS * SYNC.length)
  expect(socket.writableLength).toBeLessThanOrEqual(before)
  client.socket.resume()
  expect(await client.until('Z')).toHaveLength(ROWS + 1)
  for (let answers = 0; answers < SYNCS; answers += 1) {
    if ((await client.until('Z')).join() !== 'Z:I') throw new Error(`only ${answers} answers`)
  }
  client.socket.destroy()
  await session.done
})

test('one that never reads is ended', async () => {
  const client = await stalledClient()
  await expect
    .poll(() => {
      // Anew as long as the system still takes something for it.
      pass(STALLED_MS)
      return socket.destroyed
    })
    .toBe(true)
  await session.done
  client.socket.destroy()
})

test('one that does not read does not outlast a shutdown', async () => {
  const client = await stalledClient()
  session.terminate(new WireError('57P01', 'shutdown', { fatal: true }))
  await session.done
  expect(socket.destroyed).toBe(true)
  client.socket.destroy()
})

/** Eight that went no further kept everybody else from sending large messages. */
test('one that only announces a large message is ended, and the memory for it is free again', async () => {
  const whole = messageBuffer.freeBytes
  const client = await rawClient((server.address() as AddressInfo).port)
  client.send(message('Q', Buffer.alloc(64 * MIB - 4)).subarray(0, 5))
  await expect.poll(() => messageBuffer.freeBytes).toBe(whole - 64 * MIB - 1)
  pass(STALLED_MS)
  expect((await client.until('E')).join()).toContain('25P03')
  await session.done
  expect(messageBuffer.freeBytes).toBe(whole)
})

test('a large message may take longer than that, as long as it goes on', async () => {
  const whole = messageBuffer.freeBytes
  const client = await rawClient((server.address() as AddressInfo).port)
  const before = socket.bytesRead
  // Data of a COPY that has failed is ignored.
  const large = message('d', Buffer.alloc(2 * MIB))
  for (let at = 0; at < large.length; at += 200 * 1024) {
    const part = large.subarray(at, at + 200 * 1024)
    client.send(part)
    await expect.poll(() => socket.bytesRead - before).toBe(at + part.length)
    pass(STALLED_MS - 1)
  }
  client.send(SYNC)
  expect(await client.until('Z')).toEqual(['Z:I'])
  expect(messageBuffer.freeBytes).toBe(whole)
  client.socket.destroy()
  await session.done
})
