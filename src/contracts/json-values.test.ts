import fc from 'fast-check'
import { expect, test } from 'vitest'
import { certainlyFits, jsonCopy } from './json-values.ts'

const textOf = (value: unknown) => JSON.stringify(value) as string | undefined

const throughJson = (value: unknown): unknown => {
  const text = textOf(value)
  return text === undefined ? undefined : JSON.parse(text)
}

/** What JSON has no form for, or another one. */
const odd = fc.constantFrom(
  undefined,
  NaN,
  -0,
  Infinity,
  '\ud800',
  '\u2028',
  new Date(0),
  new Date(NaN),
  new URL('https://example.test/'),
  new Map([[1, 2]]),
  Buffer.from('bytes'),
  Symbol('one'),
  () => 1,
  Object.assign(Object.create(null) as object, { bare: 1 }),
  Object.assign(() => 1, { toJSON: () => 'a function with a form' }),
  { toJSON: (name: unknown) => `form of ${typeof name} ${String(name)}` },
  { toJSON: 1 },
  { toString: () => 1, constructor: Symbol('one'), valueOf: { toJSON() {} } },
  JSON.parse('{"__proto__":{"a":1}}') as object,
  [undefined, () => 1, 3],
  Array<number>(3),
  Object.assign([1], { toJSON: () => 'a list with a form' }),
)
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue(),
    odd,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
  ),
})).value

test('a copy is what comes out of JSON, whatever goes in', () => {
  fc.assert(
    fc.property(anything, (value) => {
      expect(jsonCopy(value)).toStrictEqual(throughJson(value))
    }),
    { numRuns: 2_000 },
  )
})

test('a copy shares nothing with the original', () => {
  const original = { list: [{ a: 1 }], inner: { b: 2 } }
  const copy = jsonCopy(original) as typeof original
  expect(copy).toEqual(original)
  expect(copy).not.toBe(original)
  expect(copy.list).not.toBe(original.list)
  expect(copy.list[0]).not.toBe(original.list[0])
  expect(copy.inner).not.toBe(original.inner)
})

test('what JSON refuses is refused', () => {
  expect(() => jsonCopy({ large: 1n })).toThrow(TypeError)
})

test('what is said to fit fits', () => {
  fc.assert(
    fc.property(anything, fc.integer({ min: 0, max: 2_000 }), (value, bytes) => {
      const size = Buffer.byteLength(textOf(value) ?? '')
      if (certainlyFits(value, bytes)) expect(size).toBeLessThanOrEqual(bytes)
    }),
    { numRuns: 2_000 },
  )
  expect(certainlyFits({ a: 'b', c: [1, true, null] }, 1_000)).toBe(true)
  expect(certainlyFits({ a: '\u0000'.repeat(200) }, 1_200)).toBe(false)
})
