import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backendMessageChecker } from './check-backend-messages.ts'

const message = (kind: string, body: Buffer | string, length?: number): Buffer => {
  const bytes = Buffer.from(body as string)
  const head = Buffer.alloc(5, kind)
  head.writeUInt32BE(length ?? bytes.length + 4, 1)
  return Buffer.concat([head, bytes])
}
const authentication = (type: number, rest = ''): Buffer => {
  const body = Buffer.alloc(4)
  body.writeUInt32BE(type)
  return message('R', Buffer.concat([body, Buffer.from(rest)]))
}
const columns = (count: number, ...names: string[]): Buffer => {
  const head = Buffer.alloc(2)
  head.writeUInt16BE(count)
  return message(
    'T',
    Buffer.concat([
      head,
      ...names.map((name) => Buffer.concat([Buffer.from(`${name}\0`), Buffer.alloc(18)])),
    ]),
  )
}
const READY = message('Z', 'I')
const CHALLENGE = 'r=abcDEF123+/,s=c2FsdA==,i=4096'

const usual = Buffer.concat([
  authentication(10, 'SCRAM-SHA-256\0\0'),
  authentication(11, CHALLENGE),
  authentication(12, 'v=abc'),
  authentication(0),
  message('S', 'TimeZone\0UTC\0'),
  READY,
  columns(2, 'id', 'a text'),
  message('D', 'whatever a row holds'),
  message('C', 'SELECT 1\0'),
  READY,
])

test('what a server usually says passes, however the network cuts it', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: usual.length }), { maxLength: 8 }), (cuts) => {
      const isAllowed = backendMessageChecker()
      const ends = [0, ...cuts.toSorted((a, b) => a - b), usual.length]
      ends.slice(1).forEach((end, index) => expect(isAllowed(usual.subarray(ends[index], end))).toBe(true))
    }),
  )
})

test.each([
  ['a login message without a type', message('R', '')],
  ['a login message cut short', message('R', 'ab')],
  ['a kind of login the driver does not know', authentication(7)],
  ['two billion rounds of hashing', authentication(11, 'r=a,s=c2FsdA==,i=2000000000')],
  ['no round of hashing', authentication(11, 'r=a,s=c2FsdA==,i=0')],
  ['a second number of rounds', authentication(11, 'r=a,s=c2FsdA==,i=4096,i=2000000000')],
  ['a number the driver reads otherwise', authentication(11, 'r=a,s=c2FsdA==,i=1e9')],
  ['a challenge without a salt', authentication(11, 'r=a,i=4096')],
  ['an empty challenge', authentication(11)],
  ['a row description without columns it counts', columns(3, 'id')],
  ['a row description with a name that never ends', message('T', Buffer.from([0, 1, 65, 66, 67]))],
  ['a row description of nothing', message('T', '')],
  ['a message shorter than its own length', message('D', '', 3)],
  ['a row description of four gigabytes', message('T', '', 0xffff_ffff)],
  ['a row of four gigabytes', message('D', '', 0xffff_ffff)],
])('%s is refused, also late in a session and byte by byte', (_what, bad) => {
  expect(backendMessageChecker()(bad)).toBe(false)
  const isAllowed = backendMessageChecker()
  expect(isAllowed(usual)).toBe(true)
  const verdicts = [...bad].map((byte) => isAllowed(Buffer.from([byte])))
  expect(verdicts.at(-1)).toBe(false)
  expect(isAllowed(READY), 'once refused is refused for good').toBe(false)
})

test('an answer without end is refused, many answers are not', () => {
  const row = message('D', Buffer.alloc(1024 * 1024))
  const endless = backendMessageChecker()
  expect(Array.from({ length: 70 }, () => endless(row)).at(-1)).toBe(false)
  const many = backendMessageChecker()
  expect(Array.from({ length: 70 }, () => many(row) && many(READY)).at(-1)).toBe(true)
})
