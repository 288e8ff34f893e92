import { expect, test } from 'vitest'
import { prefixStatementName } from './prepared-statements.ts'
import { cString, message } from './protocol-messages.ts'

test('long names stay apart, within what Postgres keeps of a name', () => {
  const nameOf = (name: string) =>
    prefixStatementName(message('P', cString(name), cString('select 1'), Buffer.alloc(2)), 'g1_').statement!
  const long = 'n'.repeat(62)
  const names = [`${long}a`, `${long}b`, 'ä', 'short'].map(nameOf)
  expect(new Set(names).size).toBe(4)
  for (const name of names) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(63)
  expect([nameOf('short'), nameOf('')]).toEqual(['g1_short', ''])
})

test.each([
  message('E', cString(''), Buffer.alloc(4)),
  message('B', cString(''), cString(''), Buffer.alloc(6)),
])('a queued message keeps nothing of what arrived with it', (bytes) => {
  const arrived = Buffer.concat([bytes, Buffer.alloc(64 * 1024)])
  const queued = prefixStatementName(arrived.subarray(0, bytes.length), 'g1_')
  expect(queued.bytes).toEqual(bytes)
  expect(queued.bytes.buffer).not.toBe(arrived.buffer)
})

/** It would be in memory twice, and was counted once. */
test('a message that fills its memory is not copied', () => {
  const large = message('B', cString(''), cString(''), Buffer.alloc(2 * 1024 * 1024))
  expect(large.buffer.byteLength).toBe(large.length)
  const queued = prefixStatementName(large, 'g1_')
  expect(queued).toMatchObject({ does: 'use', statement: '' })
  expect(queued.bytes.buffer).toBe(large.buffer)
})
