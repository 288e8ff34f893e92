import { describe, expect, test } from 'vitest'
import { SearchConfiguration } from '../../contracts/data-sources.ts'
import { databaseFailureOf } from './database-failure.ts'
import { hitsOf, type FoundRow } from './nearest-rows.ts'
import { columnsIn, countIn, estimateIn, indexesIn } from './read-rows.ts'

const MALFORMED = expect.objectContaining({ code: 'MALFORMED_ANSWER' })
const entry = SearchConfiguration.parse({
  connection_config: {
    embedding_configs: [
      {
        table: 't',
        label: 't',
        model: 'm',
        dimensions: 3,
        columns: ['v'],
        distance_metric: 'cosine',
        content_columns: 'id,title,facts',
      },
    ],
  },
}).connection_config.embedding_configs[0]!
const found = (...rows: object[]) => hitsOf({ entry, limit: 2 }, rows as FoundRow[])
const row = { c0: '1', c1: null, c2: '{"a":[12345678901234567890]}', distance: 0.5 }

test('rows as they were asked for become hits', () => {
  expect(found(row, { ...row, distance: Number.NaN })).toEqual([
    {
      id: '1',
      title: null,
      metadata: { facts: { a: ['12345678901234567890'] }, _score: 0.5, _target: 't' },
    },
  ])
})

test.each([
  ['JSON that is none', { ...row, c2: '{' }],
  ['no id', { ...row, c0: undefined }],
  ['a value that is no text', { ...row, c2: 7 }],
  ['a distance that is no number', { ...row, distance: '0.5' }],
])('%s is a failure of the source', (_what, bad) => {
  expect(() => found(bad)).toThrow(MALFORMED)
})

test('more rows than were asked for are a failure of the source', () => {
  expect(() => found(row, row, row)).toThrow(MALFORMED)
  expect(databaseFailureOf(Object.assign(new Error(), { code: 'MALFORMED_ANSWER' }))?.kind).toBe('failed')
})

test('lists that would take many times their text in memory stay text beyond a limit', () => {
  const list = `[${'{},'.repeat(5_000)}{}]`
  const rows = Array.from({ length: 200 }, () => ({ ...row, c2: list }))
  const facts = hitsOf({ entry, limit: 200 }, rows).map(({ metadata }) => metadata['facts'])
  expect(Array.isArray(facts[0])).toBe(true)
  expect(facts.at(-1)).toBe(list)
})

describe('what a database knows of a table', () => {
  const column = { name: 'a', type: 'text', kind: 'b', modifier: -1, schema: 'pg_catalog', virtual: false }
  const index = { column: null, method: 'btree', operators: 'text_ops' }
  const bad = [undefined, null, 7, '', '{', '{}', '[1]', '[null]', '[[]]', `[${'{},'.repeat(200_000)}{}]`]

  test('is read from JSON', () => {
    expect(columnsIn(JSON.stringify([column]))).toEqual([column])
    expect(indexesIn(JSON.stringify([index]))).toEqual([index])
    expect(estimateIn('[{"Plan": {"Alias": "\\"Plan Rows\\": 1", "Plan Rows": 20}}]')).toBe(20)
    expect(countIn({ rows: 3 }, 'rows')).toBe(3)
  })

  test('is refused in any other form', () => {
    const spoiled = Object.keys(column).map((key) => JSON.stringify([{ ...column, [key]: { a: 1 } }]))
    for (const json of [...bad, ...spoiled, JSON.stringify([{ ...column, name: 'a\0b' }])]) {
      expect(() => columnsIn(json)).toThrow(MALFORMED)
    }
    for (const json of [...bad, JSON.stringify([{ ...index, method: 1 }])]) {
      expect(() => indexesIn(json)).toThrow(MALFORMED)
    }
    for (const plan of [undefined, [], '[]', '[{"Plan": {"Plan Rows": "x"}}]']) {
      expect(() => estimateIn(plan)).toThrow(MALFORMED)
    }
    for (const counted of [undefined, {}, { rows: '3' }, { rows: Number.NaN }]) {
      expect(() => countIn(counted, 'rows')).toThrow(MALFORMED)
    }
  })
})
