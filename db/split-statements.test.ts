import fc from 'fast-check'
import { expect, test } from 'vitest'
import { splitStatements } from './embedded.ts'

const message = (kind: string, body: Uint8Array): Buffer => {
  const head = Buffer.alloc(5)
  head.write(kind)
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const body = fc.uint8Array({ maxLength: 40 })
const ordinary = fc.tuple(fc.constantFrom('P', 'B', 'D', 'E', 'H', 'C'), body)
const last = fc.oneof(fc.tuple(fc.constant('Q'), body), fc.constant(['S', new Uint8Array()] as const))
const statement = fc
  .tuple(fc.array(ordinary, { maxLength: 5 }), last)
  .map(([messages, end]) => Buffer.concat([...messages, end].map(([kind, bytes]) => message(kind, bytes))))

test('every statement comes out as it went in, whatever its messages hold', () => {
  fc.assert(
    fc.property(fc.array(statement), (statements) => {
      expect(splitStatements(Buffer.concat(statements)).map((cut) => Buffer.from(cut))).toEqual(statements)
    }),
  )
})

test('messages that wait for more of their statement are kept together at the end', () => {
  const [whole, begun] = [message('S', Buffer.alloc(0)), message('P', Buffer.from('begun'))]
  expect(splitStatements(Buffer.concat([whole, begun]))).toEqual(
    [whole, begun].map((cut) => Buffer.from(cut)),
  )
})

test('a start-up packet stays whole', () => {
  const packet = Buffer.from([0, 0, 0, 8, 0, 3, 0, 0])
  expect(splitStatements(packet)).toEqual([packet])
})
