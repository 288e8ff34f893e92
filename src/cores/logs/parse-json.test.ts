import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseInTurns } from './parse-json.ts'

const outcomeOf = async (parse: () => unknown): Promise<unknown> => {
  try {
    return { value: await parse() }
  } catch (error) {
    return (error as Error).name
  }
}
const parsed = (text: string) => JSON.parse(text, (key, value) => (key === '__proto__' ? undefined : value))
/** As it is read in turns, and by JSON.parse. */
const both = async (text: string) => [
  await outcomeOf(() => parseInTurns(text, () => {})),
  await outcomeOf(() => parsed(text)),
]

test('what is JSON is read as JSON.parse reads it', async () => {
  const space = fc.constantFrom('', '  ', '\t', '\r\n')
  const property = fc.asyncProperty(fc.jsonValue(), space, async (value, around) => {
    const [found, expected] = await both(around + JSON.stringify(value, undefined, around) + around)
    expect(found).toEqual(expected)
  })
  await fc.assert(property, { numRuns: 500 })
})

test('what is not is refused as JSON.parse refuses it', async () => {
  const part = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    ' ',
    '\\',
    'u',
    '0',
    'a',
    '1',
    '-',
    '.',
    'e',
    '+',
    't',
    'n',
    '\n',
    '"a"',
    'true',
  )
  const property = fc.asyncProperty(fc.array(part, { maxLength: 9 }), async (parts) => {
    const [found, expected] = await both(parts.join(''))
    expect(found).toEqual(expected)
  })
  await fc.assert(property, { numRuns: 3_000 })
})

test.each([
  '',
  ' ',
  '"',
  '"a\\"',
  '"\\\\"',
  '"\\\\\\""',
  '{"a":1,}',
  '[1,]',
  '[1 2]',
  '{"a" 1}',
  '{1:2}',
  '01',
  '-',
  'tru',
  '1 1',
  '[]]',
  '"\u0001"',
  '{"a":1,"a":[2]}',
  '[[{"a":{}},[]],{}]',
  '\u00a01',
])('%j', async (text) => {
  const [found, expected] = await both(text)
  expect(found).toEqual(expected)
})

test('each value counts, and nothing else', async () => {
  let values = 0
  await parseInTurns('{"a":[1,"[,{",true],"b":{}}', () => (values += 1))
  expect(values).toBe(6)
})

test('a member that would be the prototype is left out', async () => {
  expect(await parseInTurns('{"__proto__":{"a":1},"b":2}', () => {})).toStrictEqual({ b: 2 })
})
