import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { holds, parseCondition } from './conditions.ts'

const measured = {
  status: 200,
  timeMs: 120.4,
  body: JSON.stringify({ status: 'UP', count: 3, items: [{ id: 'a' }, { id: 'b' }], none: null, ok: true }),
}
const isTrue = (text: string, of = measured) => holds(parseCondition(text)!, of)

describe('a condition', () => {
  test.each([
    '[STATUS] == 200',
    '[STATUS]<300',
    '[STATUS] != 500',
    '[RESPONSE_TIME] <= 120',
    '[RESPONSE_TIME] >= 100',
    '[STATUS] >= 200',
    '[STATUS] <= 200',
    '[BODY].status == UP',
    '[BODY].status == "UP"',
    '[BODY].status != DOWN',
    '[BODY].count == 3.0',
    '[BODY].count > 2',
    '[BODY].items[1].id == b',
    'len([BODY].items) == 2',
    'len([BODY].items) >= 2',
    'has([BODY].error) == false',
    'has([BODY].none) == true',
    '[BODY].ok == true',
    '[BODY].none == null',
    '[BODY] == pat(*"UP"*)',
    '[BODY].status == pat(U*)',
    '[BODY].status != pat(D*)',
  ])('%s holds', (text) => expect(isTrue(text)).toBe(true))

  test.each([
    '[STATUS] == 404',
    '[STATUS] > 200',
    '[STATUS] < 200',
    '[STATUS] >= 201',
    '[STATUS] <= 199',
    '[RESPONSE_TIME] < 100',
    '[BODY].status == DOWN',
    '[BODY].missing == UP',
    '[BODY].missing > 0',
    '[BODY].items[9].id == b',
    '[BODY].constructor == x',
    'has([BODY].toString) == true',
    '[BODY].status == pat(*N)',
    'len([BODY].count) > 0',
  ])('%s does not', (text) => expect(isTrue(text)).toBe(false))

  test.each([
    '',
    'STATUS == 200',
    '[STATUS] = 200',
    '[STATUS] ==',
    '[STATUS] == ok',
    '[STATUS] < many',
    '[BODY].a < pat(*)',
    '[BODY]..a == 1',
    '[BODY].a b == 1',
    'len([STATUS]) == 1',
    `[BODY]${'.a'.repeat(50)} == 1`,
    `[BODY] == ${'x'.repeat(400)}`,
  ])('%j is none', (text) => expect(parseCondition(text)).toBeUndefined())
})

test('a body that is not JSON can be compared as it is', () => {
  const plain = { ...measured, body: 'all good' }
  expect(isTrue('[BODY] == pat(*good)', plain)).toBe(true)
  expect(isTrue('[BODY].status == UP', plain)).toBe(false)
  expect(isTrue('len([BODY]) == 8', plain)).toBe(true)
})

test('stars match what a regular expression would', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 })
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(word, pattern, (body, stars) => {
      const expected = new RegExp(`^${stars.replaceAll('*', '.*')}$`).test(body)
      expect(isTrue(`[BODY] == pat(${stars})`, { ...measured, body })).toBe(expected)
    }),
  )
})

test('any text is a condition or none, and any body an answer', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (text, body) => {
      const condition = parseCondition(`[BODY]${text}`)
      if (condition) expect(typeof holds(condition, { ...measured, body })).toBe('boolean')
    }),
  )
})
