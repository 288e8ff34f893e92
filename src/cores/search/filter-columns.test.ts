import { expect, test } from 'vitest'
import type { FilterSchema } from '../../contracts/data-sources.ts'
import { conditionFor } from './filter-columns.ts'
import { readFilters } from './read-filters.ts'

const SCHEMA: FilterSchema = { since: 'date' }

const columnOf = (name: string, type: string) => ({
  name,
  type,
  kind: 'b',
  modifier: -1,
  schema: 'pg_catalog',
  virtual: false,
})

const parameterOf = (since: unknown, type: string) => {
  const [filter] = readFilters(SCHEMA, { since })
  return conditionFor(filter!, columnOf('since', type), '$1')?.parameter
}

test.each([
  ['9999-12-31', 'date', '{"9999-12-31","10000-01-01"}'],
  [{ gte: '9999-12-31T12:00Z' }, 'date', '{"10000-01-01"}'],
  [{ gt: '9999-12-31' }, 'timestamp', '{"10000-01-01T00:00:00.000000"}'],
  [{ lte: '9999-12-31' }, 'timestamptz', '{"10000-01-01T00:00:00.000000Z"}'],
  [{ gte: '0001-01-01' }, 'timestamptz', '{"0001-01-01T00:00:00.000000Z"}'],
])('%j of a %s is as Postgres writes it: %s', (since, type, parameter) => {
  expect(parameterOf(since, type)).toBe(parameter)
})

test.each([
  [{ gt: 99.5 }, '>=', '100'],
  [{ gte: -99.5 }, '>=', '-99'],
  [{ lt: 99.5 }, '<=', '99'],
  [{ lte: -99.5 }, '<=', '-100'],
  [{ gt: 99 }, '>', '99'],
  [{ lt: 100 }, '<', '100'],
])('whole numbers within %j are those %s %s', (n, operator, end) => {
  const [filter] = readFilters({ n: 'number' }, { n })
  for (const type of ['int2', 'int4', 'int8'])
    expect(conditionFor(filter!, columnOf('n', type), '$1')).toEqual({
      text: `"n" ${operator} ($1::int8[])[1]`,
      parameter: `{"${end}"}`,
    })
})

test.each(['0000-12-31', '0001-01-01T00:00+01:00'])(
  '%s is before the calendar of Postgres, and refused',
  (since) => {
    expect(() => readFilters(SCHEMA, { since })).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST' }))
  },
)

const conditionOf = (
  filter: unknown,
  filterType: 'string' | 'number' | 'boolean',
  type: string,
  kind = 'b',
) => {
  const [read] = readFilters({ c: filterType }, { c: filter })
  return conditionFor(read!, { ...columnOf('c', type), kind }, '$1')
}
const ID = '0190f5a0-0000-7000-8000-000000000001'

test.each([
  ['uuid', 'string', [ID, 'no id'], `{"${ID}"}`],
  ['_uuid', 'string', ['no id', ID], `{"${ID}"}`],
  ['int4', 'number', [1, 1.5], '{"1"}'],
  ['_int2', 'number', [32_767, 32_768, -32_768, 0.5], '{"32767","-32768"}'],
  ['_int4', 'number', [2 ** 31, -(2 ** 31)], '{"-2147483648"}'],
  ['float4', 'number', [0, 1e-46, 2.5], '{"0","2.5"}'],
] as const)(
  'of the values for a %s column those are left out that it cannot hold',
  (type, of, values, parameter) => {
    expect(conditionOf(values, of, type)?.parameter).toBe(parameter)
  },
)

test('where no value can match, or the column is not there or of another type, no row does', () => {
  expect(conditionOf('no id', 'string', 'uuid')).toBeUndefined()
  expect(conditionOf(32_768, 'number', '_int2')).toBeUndefined()
  expect(conditionOf('x', 'string', 'bytea')).toBeUndefined()
  expect(conditionOf(1, 'number', 'text')).toBeUndefined()
  expect(conditionFor(readFilters({ c: 'string' }, { c: 'x' })[0]!, undefined, '$1')).toBeUndefined()
})

test.each([
  ['text', 'b', '"c" = any($1::text[])'],
  ['citext', 'b', '"c" = any($1::text[])'],
  ['mood', 'e', '"c"::text = any($1::text[])'],
  ['date', 'b', '"c"::text = any($1::text[])'],
  ['_text', 'b', '"c" && $1::text[]'],
  ['_varchar', 'b', '"c" && $1::varchar[]'],
])('a text is looked for in a %s column (%s) by %s', (type, kind, text) => {
  expect(conditionOf('x', 'string', type, kind)?.text).toBe(text)
})

test.each([
  [{ gt: 1e-46 }, '>', '0'],
  [{ gte: -1e-46 }, '>=', '0'],
  [{ lt: 1e-46 }, '<=', '0'],
  [{ lte: -1e-46 }, '<', '0'],
  [{ gt: 0 }, '>', '0'],
  [{ lt: 2.5 }, '<', '2.5'],
])('numbers of single precision within %j are those %s %s', (range, operator, end) => {
  expect(conditionOf(range, 'number', 'float4')).toEqual({
    text: `"c" ${operator} ($1::float4[])[1]`,
    parameter: `{"${end}"}`,
  })
})

test('a range of texts goes by their characters, whatever the order of the database', () => {
  expect(conditionOf({ gte: 'a' }, 'string', 'citext')).toEqual({
    text: '"c"::text collate "C" >= ($1::text[])[1]',
    parameter: '{"a"}',
  })
})
