import { expect, test } from 'vitest'
import { turnsDuring } from '../../../test/support/turns-during.ts'
import { turnGiver } from './give-turn.ts'
import { readNdjson } from './read-ndjson.ts'

const fieldsOf = (objects: number) => `"a":[${'{},'.repeat(objects)}{}]`

test('a line of JSON that is larger than any log library writes is text', async () => {
  const line = (objects: number) => Buffer.from(`{"level":"error","msg":"x",${fieldsOf(objects)}}`)
  expect((await readNdjson(line(2))).records[0]).toMatchObject({ text: 'x {"a":[{},{},{}]}', level: 'error' })
  expect((await readNdjson(line(50_000))).records[0]?.text.slice(0, 16)).toBe('{"level":"error"')
})

test.each([
  ['info: job done {"level":"error"}', 'info'],
  ['info post {"level":"fatal","text":"ERROR"}', 'info'],
  ['[warning] disk ERROR soon', 'warn'],
  ['fail: Shop.Till[3]', 'error'],
  ['crit: Shop.Till[3]', 'fatal'],
  ['dbug: Shop.Till[3] ERROR', 'debug'],
  ['error: cannot open', 'error'],
  ['errors are told below', 'info'],
  ['panic: no more', 'info'],
  ['2026-03-01 ERROR till', 'error'],
  ['till level=warn', 'warn'],
  ['till level=constructor', 'info'],
  ['till level=toString', 'info'],
  ['till level=__proto__', 'info'],
])('the first word of %j that names a level is its level: %s', async (line, level) => {
  expect((await readNdjson(Buffer.from(line))).records).toMatchObject([{ level, text: line }])
})

test('many objects in many lines keep nobody else waiting', async () => {
  const lines = `{"msg":"x",${fieldsOf(30_000)}}\n`.repeat(50)
  let read = 0
  const turns = await turnsDuring(async () => {
    read = (await readNdjson(Buffer.from(lines))).records.length
  })
  expect(read).toBe(50)
  // Each line is as much as one takes.
  expect(turns).toBeGreaterThanOrEqual(50)
})

test('nothing but line feeds is refused, and keeps nobody else waiting', async () => {
  const body = Buffer.alloc(20 * 1024 * 1024, '\n')
  const turns = await turnsDuring(() => expect(readNdjson(body)).rejects.toMatchObject({ code: 'TOO_LARGE' }))
  // Of as many lines as it may have.
  expect(turns).toBeGreaterThanOrEqual(195)
  expect(await readNdjson(Buffer.from('\n\r\na\n\n'))).toMatchObject({ records: [{ text: 'a' }] })
})

test('steps of nothing give turns, too, and most steps none', () => {
  const giveTurn = turnGiver()
  const turns = Array.from({ length: 10_000 }, () => giveTurn(0)).filter(Boolean)
  expect(turns.length).toBeGreaterThan(10)
  expect(turns.length).toBeLessThan(100)
})

test('a time is read in seconds, milliseconds, microseconds and nanoseconds, as a number, as text or as a date', async () => {
  const ms = 1_794_700_000_123
  const times = [ms / 1e3, ms, ms * 1e3, ms * 1e6, String(ms), String(ms / 1e3), new Date(ms).toISOString()]
  const body = times.map((time) => JSON.stringify({ time, msg: 'x' })).join('\n')
  const { records } = await readNdjson(Buffer.from(body))
  expect(records.map(({ at }) => at?.getTime())).toEqual(times.map(() => ms))
})
