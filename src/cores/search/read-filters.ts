/** Reads the filters of a question by the types that the configuration declares. */
import type { FilterSchema, FilterType } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'

/** One column and the values of which one must match; never empty. */
export type ReadFilter =
  | { readonly column: string; readonly type: 'string'; readonly values: readonly string[] }
  | { readonly column: string; readonly type: 'number'; readonly values: readonly number[] }
  | { readonly column: string; readonly type: 'boolean'; readonly values: readonly boolean[] }

export function readFilters(
  schema: FilterSchema,
  input: Readonly<Record<string, unknown>>,
): readonly ReadFilter[] {
  // hasOwn: `constructor` and `__proto__` are columns like others, and not filterable ones unless declared.
  const unknown = Object.keys(input).filter((column) => !Object.hasOwn(schema, column))
  if (unknown.length > 0) throw notFilterable(schema, unknown)
  const problems: string[] = []
  const filters = Object.entries(input).map(([column, value]) =>
    readFilter(column, schema[column]!, value, (problem, at) =>
      problems.push(`filters.${column}${at === undefined ? '' : `.${at}`}: ${problem}`),
    ),
  )
  if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', undefined, { problems })
  return filters
}

type AddProblem = (problem: string, at?: number) => void

function readFilter(column: string, type: FilterType, input: unknown, addProblem: AddProblem): ReadFilter {
  switch (type) {
    case 'string':
      return { column, type, values: readValues(input, readString, addProblem) }
    case 'number':
      return { column, type, values: readValues(input, readNumber, addProblem) }
    case 'boolean':
      return { column, type, values: readValues(input, readBoolean, addProblem) }
  }
}

/** What a value is, or what is wrong with it. */
type Reading<T> = { value: T } | { problem: string }

function readValues<T>(input: unknown, read: (value: unknown) => Reading<T>, addProblem: AddProblem): T[] {
  if (Array.isArray(input) && input.length === 0) addProblem('must name at least one value')
  const values = new Set<T>()
  for (const [at, one] of (Array.isArray(input) ? input : [input]).entries()) {
    const reading = read(one)
    if ('value' in reading) values.add(reading.value)
    else addProblem(reading.problem, Array.isArray(input) ? at : undefined)
  }
  return [...values]
}

function readString(value: unknown): Reading<string> {
  if (typeof value !== 'string') return { problem: 'must be a text' }
  // Postgres takes neither: refused here, it is a 400 and not a 500.
  if (value.includes('\0')) return { problem: 'must not contain the NUL character' }
  if (!value.isWellFormed()) return { problem: 'must not contain half a character' }
  return { value }
}

/** RFC 8259, 6. What a person would also call a number (`0x10`, ` 1`, `1_000`) is not one here. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/

function readNumber(value: unknown): Reading<number> {
  const number = typeof value === 'string' && JSON_NUMBER.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isFinite(number)) return { problem: 'must be a number' }
  // Beyond 2^53 different numbers look alike, and a filter must not match another number.
  if (Math.abs(number) > Number.MAX_SAFE_INTEGER) return { problem: 'must lie between -2^53 and 2^53' }
  return { value: number }
}

function readBoolean(value: unknown): Reading<boolean> {
  if (value === true || value === 'true') return { value: true }
  if (value === false || value === 'false') return { value: false }
  return { problem: 'must be true or false' }
}

/** A body may hold thousands of names; an answer need not. */
const LISTED_MAX = 20

/** Only what can be the name of a column is repeated: other text may be meant for a model that reads the error. */
const REPEATABLE = /^[\p{L}\p{N}_ -]{1,63}$/u

function notFilterable(schema: FilterSchema, unknown: readonly string[]): ServiceError {
  const columns = Object.entries(schema).map(([column, type]) => `${column} (${type})`)
  const possible =
    columns.length === 0
      ? 'This data source has no filterable columns'
      : `Filterable columns: ${columns.join(', ')}`
  return new ServiceError('FILTER_NOT_ALLOWED', `Cannot filter on ${listColumns(unknown)}. ${possible}`, {
    hint: 'The list of data sources names the filterable columns of each, with their types.',
  })
}

function listColumns(columns: readonly string[]): string {
  const named = columns.filter((column) => REPEATABLE.test(column)).slice(0, LISTED_MAX)
  const others = columns.length - named.length
  if (named.length === 0) return others === 1 ? 'this column' : 'these columns'
  const names = named.map((name) => `"${name}"`).join(', ')
  return others === 0 ? names : `${names} and ${others} other column${others === 1 ? '' : 's'}`
}
