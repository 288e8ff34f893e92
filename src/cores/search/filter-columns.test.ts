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
