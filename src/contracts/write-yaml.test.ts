import fc from 'fast-check'
import { expect, inject, test } from 'vitest'
import { parse } from 'yaml'
import { writeYaml } from './write-yaml.ts'

/** Texts that some reader of YAML takes for something else, and all the characters that make trouble. */
const TROUBLE = [
  [
    '',
    ' ',
    'a ',
    ' a',
    'a:',
    'a: b',
    'a :b',
    'a #b',
    'a#b',
    '#',
    '- a',
    '-',
    '? b',
    '?',
    ': c',
    '---',
    '...',
  ],
  ['true', 'False', 'YES', 'no', 'On', 'off', 'y', 'N', 'null', 'Null', '~', 'NaN', '.nan', '.inf', '-.INF'],
  ['0', '1_000', '0x1F', '0o17', '017', '1e3', '1.5', '.5', '+1', '12:30:45', '2026-11-15', 'e5', 'inf'],
  ['<<', '=', '!a', '!!str a', '&a', '*a', '|', '>', '%a', '@a', '`a', '[a]', '{a}', 'a, b', "'a'", '"a"'],
  ['a\nb', 'a\n', '\n', 'a\r\nb', '\ta', 'a\tb', '\\', 'a\\nb', '\0', '\u001b', '\u007f', '\u0085', '\u009f'],
  [
    '\u00a0',
    '\u2028',
    'a\u2029b',
    '\ufeff',
    '\ufeffa',
    '\ufffe',
    '\uffff',
    '\ud800',
    'a\udc00b',
    '😀',
    'ünï',
    '日本',
  ],
  ['𝒳', '__proto__', 'constructor', 'toJSON', "it's", 'owner@svc.localhost', 'https://svc.example/a', 'k…'],
  ['k'.repeat(1_500), '"'.repeat(600), 'ü'.repeat(1_024)],
].flat()

const string = fc.oneof(
  fc.constantFrom(...TROUBLE),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
  fc.string({ unit: fc.constantFrom('a', 'Z', '0', ' ', ':', '#', '-', '\n', '"', "'", ',', 'é') }),
)
const number = fc.oneof(
  fc.constantFrom(0, -0, 1e21, -1e21, 5e-324, 1.5e300, 1e-7, 2 ** 53, Number.MAX_VALUE, NaN, Infinity),
  fc.double(),
  fc.integer(),
)
const { value: anything } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    string,
    number,
    fc.boolean(),
    fc.constantFrom(null, undefined, new Date(0)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(string, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
}))

const asJson = (value: unknown): string => JSON.stringify(value) ?? 'null'
/** Compared as JSON text, which also tells own keys such as `__proto__` and their order. */
const readBack = (yaml: string) =>
  (['1.2', '1.1'] as const).map((version) => JSON.stringify(parse(yaml, { version, logLevel: 'error' })))

test('readers of YAML 1.1 and 1.2 find what a reader of JSON would', () => {
  fc.assert(
    fc.property(anything, (value) => {
      expect(readBack(writeYaml(value))).toEqual([asJson(value), asJson(value)])
    }),
    { numRuns: inject('everyCase') ? 2_000 : 300 },
  )
})

test.each(TROUBLE)('%j survives as value, key, item and document', (trouble) => {
  for (const value of [trouble, [trouble], { [trouble]: trouble }, [{ [trouble]: [trouble] }]]) {
    expect(readBack(writeYaml(value))).toEqual([asJson(value), asJson(value)])
  }
})

test('a text never takes more than one line', () => {
  fc.assert(
    fc.property(string, (value) => {
      // oxlint-disable-next-line no-control-regex -- these are what is looked for
      expect(writeYaml(value)).toMatch(/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff\ud800-\udfff]*\n$/u)
    }),
  )
})

test('depth costs no more than JSON does', () => {
  const nested = (levels: number, wrap: (inner: unknown) => unknown) => {
    let value: unknown = 'core'
    for (let level = 0; level < levels; level++) value = wrap(value)
    return value
  }
  for (const wrap of [(inner: unknown) => [inner, 1], (inner: unknown) => ({ a: inner, '\u0085': [] })]) {
    const value = nested(300, wrap)
    const yaml = writeYaml(value)
    expect(yaml.length).toBeLessThan(JSON.stringify(value).length * 2 + 4_000)
    expect(readBack(yaml)).toEqual([asJson(value), asJson(value)])
  }
})

test('reads like something a person wrote', () => {
  const answer = {
    count: 2,
    results: [
      { id: '7', title: 'Returns: how long?', metadata: { body: 'One\ntwo', tags: ['a', []], _score: 0.5 } },
      { id: 'ab-1', title: null, metadata: {} },
    ],
    matrix: [[1, 2], [{ at: new Date(0), gone: undefined }]],
    nothing: { gone: undefined },
    small: 1e-7,
    who: 'owner@svc.localhost',
  }
  expect(writeYaml(answer)).toBe(`count: 2
results:
  - id: "7"
    title: "Returns: how long?"
    metadata:
      body: "One\\ntwo"
      tags:
        - a
        - []
      _score: 0.5
  - id: ab-1
    title: null
    metadata: {}
matrix:
  - - 1
    - 2
  - - at: "1970-01-01T00:00:00.000Z"
nothing: {}
small: 1.0e-7
who: owner@svc.localhost
`)
})

test('what JSON refuses is refused', () => {
  const circle: unknown[] = []
  circle.push(circle)
  expect(() => writeYaml(circle)).toThrow(TypeError)
  expect(() => writeYaml({ a: 1n })).toThrow(TypeError)
})
