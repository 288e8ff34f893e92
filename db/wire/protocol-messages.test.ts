import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { ResponseReader, errorResponse, message, readyForQuery, WireError } from './protocol-messages.ts'

const ROW = message('D', Buffer.from('a row that holds Z\0\0\0\u0005I and the like'))
const ERROR = errorResponse(new WireError('22012', 'division by zero'))

test('an answer is understood however it is cut', () => {
  const answer = Buffer.concat([ROW, ERROR, readyForQuery('E'), ROW, readyForQuery('T')])
  const cuts = fc.array(fc.nat(answer.length), { maxLength: 8 })
  fc.assert(
    fc.property(cuts, (at) => {
      const reader = new ResponseReader()
      const ends = [...at.toSorted((a, b) => a - b), answer.length]
      for (const [index, end] of ends.entries()) reader.read(answer.subarray(ends[index - 1] ?? 0, end))
      expect(reader.status).toBe('T')
      expect(reader.failure).toMatchObject({ code: '22012', message: 'division by zero' })
    }),
  )
})

test('the bytes of a ReadyForQuery inside a row are not one, and one that something follows does not count', () => {
  const inRow = new ResponseReader()
  inRow.read(message('D', readyForQuery('I')))
  expect(inRow.status).toBeUndefined()
  inRow.read(Buffer.concat([readyForQuery('I'), ROW]))
  expect(inRow.status).toBeUndefined()
})
