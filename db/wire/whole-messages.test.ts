import { expect, test } from 'vitest'
import { message } from './protocol-messages.ts'
import { WholeMessages } from './whole-messages.ts'

const MIB = 1024 * 1024

function receiving(chunks: readonly Buffer[]) {
  const seen: Buffer[] = []
  const whole: boolean[] = []
  let takenTimes = 0
  const messages = new WholeMessages((bytes, taken) => {
    seen.push(Buffer.from(bytes))
    taken()
  })
  for (const chunk of chunks) {
    messages.receive(chunk, () => (takenTimes += 1))
    whole.push(messages.isWhole)
  }
  return { seen, whole, takenTimes }
}

const ROWS = Buffer.concat(['one', 'two', 'three'].map((text) => message('D', Buffer.from(text))))
/** Chunks of one size. */
const cut = (bytes: Buffer, size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size))

test.each([1, 3, 5, 7, 100])('messages in chunks of %d bytes are handed on whole', (size) => {
  const { seen, whole, takenTimes } = receiving(cut(ROWS, size))
  expect(Buffer.concat(seen)).toEqual(ROWS)
  for (const part of seen) expect(part[0]).toBe('D'.charCodeAt(0))
  expect(whole.every(Boolean)).toBe(true)
  expect(takenTimes, 'the engine never waits for a message that it has not ended').toBe(
    cut(ROWS, size).length,
  )
})

test('what was not ended is not handed on', () => {
  const { seen } = receiving([ROWS.subarray(0, -1)])
  expect(Buffer.concat(seen)).toEqual(ROWS.subarray(0, 8 + 8))
})

test('a long message is handed on as it comes, and is half until its end', () => {
  const long = Buffer.concat([ROWS, message('D', Buffer.alloc(2 * MIB)), ROWS])
  const { seen, whole } = receiving(cut(long, MIB))
  expect(Buffer.concat(seen).equals(long)).toBe(true)
  expect(whole).toEqual([false, false, true])
})
