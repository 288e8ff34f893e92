import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cString, int32, message } from '../wire/protocol-messages.ts'
import {
  ProtocolViolation,
  readBackendMessages,
  readDataRow,
  readErrorResponse,
  readRowDescription,
} from './backend-messages.ts'

const READY = message('Z', Buffer.from('I'))
const usual = [
  message('R', int32(0)),
  message('S', cString('TimeZone'), cString('UTC')),
  READY,
  message('1'),
  message('D', Buffer.from('whatever a row holds')),
  message('C', cString('SELECT 1')),
  READY,
]

const UNCOUNTED = { add() {}, release() {}, end() {} }

test('what a server usually says is taken apart alike, however the network cuts it', () => {
  const stream = Buffer.concat(usual)
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: stream.length }), { maxLength: 8 }), (cuts) => {
      const seen: string[] = []
      const read = readBackendMessages((type, body) => seen.push(type + body.toString('latin1')), UNCOUNTED)
      const ends = [0, ...cuts.toSorted((a, b) => a - b), stream.length]
      ends.slice(1).forEach((end, at) => read(stream.subarray(ends[at], end)))
      expect(seen).toEqual(usual.map((one) => one.toString('latin1', 0, 1) + one.toString('latin1', 5)))
    }),
  )
})

test.each([
  ['the beginning of a COPY', message('G', Buffer.alloc(3))],
  ['a kind of message that no question needs', message('A', int32(1), cString('a'), cString('b'))],
  ['a message shorter than its own length', Buffer.from('D\0\0\0\x03', 'latin1')],
  ['a row description of four gigabytes', Buffer.from('T\xff\xff\xff\xff', 'latin1')],
  ['a notice of a megabyte', message('N', Buffer.alloc(1024 * 1024)).subarray(0, 100)],
  ['a row of four gigabytes', Buffer.from('D\xff\xff\xff\xff', 'latin1')],
])('%s is refused, also late in a session and byte by byte', (_what, bad) => {
  expect(() => readBackendMessages(() => {}, UNCOUNTED)(bad)).toThrow(ProtocolViolation)
  const read = readBackendMessages(() => {}, UNCOUNTED)
  read(Buffer.concat(usual))
  expect(() => [...bad].forEach((byte) => read(Buffer.from([byte])))).toThrow(ProtocolViolation)
  expect(() => read(READY), 'once refused is refused for good').toThrow(ProtocolViolation)
})

test('an answer without end is refused, many answers are not', () => {
  const row = message('D', Buffer.alloc(1024 * 1024))
  const endless = readBackendMessages(() => {}, UNCOUNTED)
  expect(() => Array.from({ length: 20 }, () => endless(row))).toThrow(ProtocolViolation)
  const many = readBackendMessages(() => {}, UNCOUNTED)
  for (let time = 0; time < 40; time += 1) many(Buffer.concat([row, READY]))
})

test.each(['N', 'S', '1', '2', '3', 'n'])('empty messages without end (%s) are refused', (type) => {
  const read = readBackendMessages(() => {}, UNCOUNTED)
  const many = Buffer.concat(Array.from({ length: 60_000 }, () => message(type)))
  expect(() => read(many)).toThrow(ProtocolViolation)
})

const column = (name: string, type: number) =>
  Buffer.concat([cString(name), Buffer.alloc(6), int32(type), Buffer.alloc(8)])
const value = (text: string) => Buffer.concat([int32(Buffer.byteLength(text)), Buffer.from(text)])

test('rows are read by the types of their columns', () => {
  const description = Buffer.concat([
    Buffer.from([0, 5]),
    column('yes', 16),
    column('n', 701),
    column('json', 114),
    column('big', 20),
    column('none', 25),
  ])
  const columns = readRowDescription(description)
  const row = Buffer.concat([
    Buffer.from([0, 5]),
    value('t'),
    value('0.5'),
    value('{"a":[1]}'),
    value('9007199254740993'),
    int32(-1),
  ])
  expect(readDataRow(row, columns)).toEqual({
    yes: true,
    n: 0.5,
    // However it is written: parsed, it could take hundreds of times its size.
    json: '{"a":[1]}',
    big: '9007199254740993',
    none: null,
  })
})

test('descriptions and rows that say one thing and hold another are refused', () => {
  const one = [{ name: 'a', type: 25 }]
  for (const bad of [
    '',
    '\0',
    '\0\x02',
    '\0\x01\0\0',
    '\0\x01\0\0\0\x09x',
    '\0\x01\xff\xff\xff\xfex',
    '\0\x01\0\0\0\x01xy',
  ]) {
    expect(() => readDataRow(Buffer.from(bad, 'latin1'), one), JSON.stringify(bad)).toThrow(ProtocolViolation)
  }
  for (const bad of ['', '\0\x01', '\0\x01abc', '\0\x01a\0', `\0\x01a\0${'\0'.repeat(17)}`, `\0\0x`]) {
    expect(() => readRowDescription(Buffer.from(bad, 'latin1')), JSON.stringify(bad)).toThrow(
      ProtocolViolation,
    )
  }
})

test('an error keeps a code that is one, and none of its words', () => {
  const error = (code: string) =>
    readErrorResponse(
      Buffer.concat([cString('SERROR'), cString(`C${code}`), cString('Msecret'), Buffer.alloc(1)]),
    )
  expect(error('25006').code).toBe('25006')
  expect(error('<b>!').code).toBe('XX000')
  expect(error('25006').message).not.toContain('secret')
})
