import { expect, test } from 'vitest'
import { buildFields } from './request-fields.ts'

const build = (...fields: [key: string, value: unknown][]) =>
  JSON.parse(JSON.stringify(buildFields(fields.map(([key, value]) => ({ key, value }))))) as unknown

test('fields become a body, parts become objects, and [] a list', () => {
  expect(build()).toEqual({})
  expect(
    build(
      ['query', 'leave'],
      ['top_k', 3],
      ['filters[topic]', 'leave'],
      ['filters[year]', 2026],
      ['a[]', 1],
      ['a[]', null],
    ),
  ).toEqual({ query: 'leave', top_k: 3, filters: { topic: 'leave', year: 2026 }, a: [1, null] })
  expect(build(['a[b][c][]', 'x'])).toEqual({ a: { b: { c: ['x'] } } })
})

test('names of JavaScript are names like others', () => {
  expect(JSON.stringify(buildFields([{ key: '__proto__[x]', value: 1 }]))).toBe('{"__proto__":{"x":1}}')
  expect(build(['constructor', 1], ['toString[]', 2])).toEqual({ constructor: 1, toString: [2] })
})

test.each([
  [
    [
      ['a', 1],
      ['a', 2],
    ],
    'given twice',
  ],
  [
    [
      ['a', 1],
      ['a[b]', 2],
    ],
    'given twice',
  ],
  [
    [
      ['a[]', 1],
      ['a[b]', 2],
    ],
    'given twice',
  ],
  [
    [
      ['a[b]', 1],
      ['a[]', 2],
    ],
    'given twice',
  ],
  [[['a[][b]', 1]], 'Not a field'],
  [[['[a]', 1]], 'Not a field'],
  [[['a[b', 1]], 'Not a field'],
] as const)('%j is refused: %s', (fields, says) => {
  expect(() => build(...fields.map(([key, value]): [string, unknown] => [key, value]))).toThrow(says)
})
