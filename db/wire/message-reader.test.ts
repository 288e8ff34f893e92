import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { readMessages } from './message-reader.ts'
import { message, simpleQuery, SYNC } from './protocol-messages.ts'

const MIB = 1024 * 1024

function fakeSocket() {
  const socket = Object.assign(new EventEmitter(), {
    paused: false,
    pause: () => void (socket.paused = true),
    resume: () => void (socket.paused = false),
  })
  /** In chunks, as the system might have them. */
  const receive = async (bytes: Buffer, chunkBytes = 60_000) => {
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      while (socket.paused) await turn()
      socket.emit('data', Buffer.from(bytes.subarray(at, at + chunkBytes)))
    }
  }
  return { socket, receive, reader: readMessages(socket as unknown as Socket) }
}

test('a large message is announced first, comes whole, and leaves none of its memory with the bytes after it', async () => {
  const { receive, reader } = fakeSocket()
  const large = simpleQuery('select '.repeat(MIB))
  const announced: number[] = []
  const next = () => reader.next(64 * MIB, (bytes) => void announced.push(bytes))
  await receive(SYNC)
  await receive(large.subarray(0, 5))
  expect(await next()).toEqual(SYNC)
  const reading = next()
  await Promise.resolve()
  expect(announced).toEqual([large.length])
  await receive(Buffer.concat([large.subarray(5), SYNC]))
  expect((await reading)?.equals(large)).toBe(true)
  const after = await next()
  expect(after).toEqual(SYNC)
  expect(after?.buffer.byteLength).toBeLessThan(2 * MIB)
  expect(announced).toHaveLength(1)
})

test('one that is refused when it is announced takes no memory, and half a one has no end', async () => {
  const { socket, receive, reader } = fakeSocket()
  const large = message('Q', Buffer.alloc(2 * MIB))
  await receive(large.subarray(0, MIB))
  const refused = reader.next(64 * MIB, () => {
    throw new Error('no room')
  })
  await expect(refused).rejects.toThrow('no room')
  const reading = reader.next(64 * MIB, () => {})
  socket.emit('end')
  expect(await reading).toBeUndefined()
})

/** Each takes half a kilobyte besides its bytes, and a client may send byte by byte. */
test('chunks are not kept one by one, however many they are', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const { socket, receive, reader } = fakeSocket()
  const chunks: WeakRef<Buffer>[] = []
  socket.on('data', (chunk: Buffer) => void chunks.push(new WeakRef(chunk)))
  const bytes = message('d', Buffer.alloc(10_000, 'x'))
  await receive(bytes, 1)
  await turn()
  collect()
  expect(chunks.filter((chunk) => chunk.deref()).length).toBeLessThan(1_000)
  expect((await reader.next(MIB))?.equals(bytes)).toBe(true)
})
