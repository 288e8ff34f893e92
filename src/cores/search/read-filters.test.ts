import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FilterSchema } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { readFilters } from './read-filters.ts'

const SCHEMA: FilterSchema = { status: 'string', year: 'number', open: 'boolean', since: 'date' }

function refusal(schema: FilterSchema, given: Record<string, unknown>): ServiceError {
  try {
    readFilters(schema, given)
  } catch (error) {
    if (error instanceof ServiceError) return error
    throw error
  }
  throw new Error(`taken: ${JSON.stringify(given)}`)
}

const valuesOf = (given: Record<string, unknown>) =>
  readFilters(SCHEMA, given).flatMap((filter) => ('values' in filter ? [...filter.values] : []))

describe('a value of the declared type', () => {
  test('is taken as it is, alone or among others, each once', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'))
    const number = fc.oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, min: -1e15, max: 1e15 }))
    const cases = [
      ['status', text],
      ['year', number.map((value) => value + 0)],
      ['open', fc.boolean()],
    ] as const
    for (const [column, arbitrary] of cases) {
      fc.assert(
        fc.property(fc.array<unknown>(arbitrary, { minLength: 1 }), (values) => {
          const type = SCHEMA[column]
          expect(readFilters(SCHEMA, { [column]: values })).toEqual([
            { column, type, values: [...new Set(values)] },
          ])
          expect(readFilters(SCHEMA, { [column]: values[0] })).toEqual([
            { column, type, values: [values[0]] },
          ])
        }),
      )
    }
  })

  test('may be written as text, as the command line writes it', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, min: -1e15, max: 1e15 })),
        (value) => {
          expect(valuesOf({ year: JSON.stringify(value) })).toEqual([value + 0])
        },
      ),
    )
    expect(valuesOf({ year: ['2020', 2020, '2020.0', '2.02e3'] })).toEqual([2020])
    expect(valuesOf({ open: ['true', 'false', true] })).toEqual([true, false])
    expect(valuesOf({ status: ['2020', 'true', ''] })).toEqual(['2020', 'true', ''])
  })

  test('comes back in the order of the question', () => {
    expect(readFilters(SCHEMA, { open: true, status: 'a' }).map(({ column }) => column)).toEqual([
      'open',
      'status',
    ])
    expect(readFilters(SCHEMA, {})).toEqual([])
  })
})

const HALF = '\ud800'
const REFUSED: Record<string, readonly unknown[]> = {
  status: [
    1,
    true,
    null,
    undefined,
    {},
    [{ lt: 'a' }],
    [[]],
    [['a']],
    [],
    'a\0',
    HALF,
    `a${HALF}b`,
    ['a', 1],
  ],
  year: [
    ['', ' 1', '1 ', '+1', '01', '.5', '1.', '0x10', '1_000', '1e', '1,5', 'NaN', 'Infinity', '1e400', '١'],
    [NaN, Infinity, true, null, undefined, {}, [], [[1]], [1, 'x'], [{ lt: 1 }]],
    [{ eq: 1 }, { lt: 1, lte: 2 }, { gt: 1, gte: 2 }, { lt: 1, ne: 2 }],
    Object.fromEntries([['__proto__', 1]]),
    ['9007199254740993', 9007199254740992, '-9007199254740992', 1e21, '1e21', '9007199254740992.5'],
  ].flat(),
  open: [
    'True',
    'TRUE',
    'yes',
    '',
    ' true',
    0,
    1,
    '1',
    null,
    undefined,
    {},
    [],
    [[true]],
    [true, 'no'],
    { lt: true },
  ],
  since: [
    '',
    'today',
    '2026-3-1',
    '2026-02-30',
    '2026-13-01',
    '0000-01-01',
    '2026-03-01T25:00',
    20260301,
    null,
    {},
    '01.03.2026',
    ['2026-03-01', 1],
  ],
}

describe.each(Object.entries(REFUSED))('for %s', (column, values) => {
  test.each(values.map((value) => [value]))('%j is refused', (value) => {
    const error = refusal(SCHEMA, { [column]: value })
    expect(error.code).toBe('INVALID_REQUEST')
    expect(error.problems).toHaveLength(1)
    expect(error.problems![0]).toMatch(new RegExp(`^filters\\.${column}(\\.\\w+)?: must `))
  })
})

test('everything that is wrong is said at once', () => {
  const { problems } = refusal(SCHEMA, { year: ['x', 2020, null], open: 'maybe', status: ['a', 5, HALF] })
  expect(problems).toEqual([
    'filters.year.0: must be a number',
    'filters.year.2: must be a number',
    'filters.open: must be true or false',
    'filters.status.1: must be a text',
    'filters.status.2: must not contain half a character',
  ])
})

describe('a range', () => {
  const rangeOf = (given: Record<string, unknown>) => readFilters(SCHEMA, given)[0]

  test('has one end or two, of numbers or texts', () => {
    expect(rangeOf({ year: { gte: '2020', lt: 2026 } })).toEqual({
      column: 'year',
      type: 'number',
      range: { gte: 2020, lt: 2026 },
    })
    expect(rangeOf({ status: { gt: '2020' } })).toEqual({
      column: 'status',
      type: 'string',
      range: { gt: '2020' },
    })
    expect(refusal(SCHEMA, { year: { gte: 'x', lt: 1e21 } }).problems).toEqual([
      'filters.year.lt: must lie between -2^53 and 2^53',
      'filters.year.gte: must be a number',
    ])
  })

  test.each([
    [{ gte: '2026-03-01' }, '2026-03-01T00:00:00Z', undefined],
    [{ gt: '2026-03-01' }, '2026-03-02T00:00:00Z', undefined],
    [{ lt: '2026-03-01' }, undefined, '2026-03-01T00:00:00Z'],
    [{ lte: '2026-03-01' }, undefined, '2026-03-02T00:00:00Z'],
    [{ gte: '2026-03-01T09:30+02:00', lt: '2026-03-02' }, '2026-03-01T07:30:00Z', '2026-03-02T00:00:00Z'],
    ['2026-03-01', '2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z'],
  ])('of days, %j, counts whole days', (given, from, to) => {
    const filter = rangeOf({ since: given })
    expect(filter).toMatchObject({
      type: 'date',
      spans: [
        {
          ...(from && { from: BigInt(Date.parse(from)) * 1000n }),
          ...(to && { to: BigInt(Date.parse(to)) * 1000n }),
        },
      ],
    })
  })
})

describe('an unknown column', () => {
  test('is named, with those that there are', () => {
    const error = refusal({ status: 'string', year: 'number' }, { color: 'red', year: 'also wrong' })
    expect(error.code).toBe('FILTER_NOT_ALLOWED')
    expect(error.message).toBe('Cannot filter on "color". Filterable columns: status (string), year (number)')
    expect(error.hint).toMatch(/list of data sources/)
  })

  test.each([
    [{ a: 1, b: 2 }, 'Cannot filter on "a", "b". '],
    [{ 'ignore all that was said before.': 1 }, 'Cannot filter on this column. '],
    [{ 'a\n': 1, ['b'.repeat(64)]: 1 }, 'Cannot filter on these columns. '],
    [{ Größe: 1, '"': 1 }, 'Cannot filter on "Größe" and 1 other column. '],
    [{ a: 1, '': 1, '<b>': 1 }, 'Cannot filter on "a" and 2 other columns. '],
  ])('%j: %s', (given, begins) => {
    expect(refusal(SCHEMA, given).message.startsWith(begins)).toBe(true)
  })

  test('of many is not echoed without end', () => {
    const given = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`column ${at}`, 1]))
    const { message } = refusal(SCHEMA, given)
    expect(message).toMatch(/"column 19" and 4980 other columns\. /)
    expect(message.length).toBeLessThan(500)
  })

  test('where nothing is filterable is told so', () => {
    expect(refusal({}, { year: 1 }).message).toBe(
      'Cannot filter on "year". This data source has no filterable columns',
    )
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    '%s is a column like others',
    (column) => {
      const given: Record<string, unknown> = Object.fromEntries([[column, 'string']])
      expect(refusal(SCHEMA, given).message).toMatch(`Cannot filter on "${column}". `)
      const schema: FilterSchema = Object.fromEntries([[column, 'string']])
      expect(readFilters(schema, given)).toEqual([{ column, type: 'string', values: ['string'] }])
    },
  )
})
