/** Reads the filters of a question by the types that the configuration declares. */
import {
  RANGE_ENDS,
  type FilterSchema,
  type FilterType,
  type RangeEnd,
} from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'

/** One column and the values of which one must match, never none; or a range that it lies in, with at least one end. */
export type ReadFilter =
  | Matching<'string', string>
  | Matching<'number', number>
  | { readonly column: string; readonly type: 'boolean'; readonly values: readonly boolean[] }
  | {
      readonly column: string
      readonly type: 'date'
      readonly spans: readonly Span[]
      readonly isRange: boolean
    }

type Matching<Type, Value> =
  | { readonly column: string; readonly type: Type; readonly values: readonly Value[] }
  | { readonly column: string; readonly type: Type; readonly range: Range<Value> }

export type Range<Value> = Partial<Record<RangeEnd, Value>>

/** Time from `from` on and before `to`, in microseconds since 1970 as the database counts them. A day is as long as it is. */
export type Span = { readonly from?: bigint; readonly to?: bigint }

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

type AddProblem = (problem: string, at?: number | string) => void

function readFilter(column: string, type: FilterType, input: unknown, addProblem: AddProblem): ReadFilter {
  const isRange = isObject(input)
  switch (type) {
    case 'string':
      return isRange
        ? { column, type, range: readRange(input, readString, addProblem) }
        : { column, type, values: readValues(input, readString, addProblem) }
    case 'number':
      return isRange
        ? { column, type, range: readRange(input, readNumber, addProblem) }
        : { column, type, values: readValues(input, readNumber, addProblem) }
    case 'boolean':
      return { column, type, values: readValues(input, readBoolean, addProblem) }
    case 'date':
      return isRange
        ? { column, type, isRange, spans: [spanOf(readRange(input, readTime, addProblem))] }
        : { column, type, isRange, spans: readValues(input, readTime, addProblem) }
  }
}

/** What a value is, or what is wrong with it. */
type Reading<T> = { value: T } | { problem: string }

const isObject = (input: unknown): input is Readonly<Record<string, unknown>> =>
  typeof input === 'object' && input !== null && !Array.isArray(input)

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

/** At most one lower and one upper end: of two, one would say nothing. */
function readRange<T>(
  input: Readonly<Record<string, unknown>>,
  read: (value: unknown) => Reading<T>,
  addProblem: AddProblem,
): Range<T> {
  const given = Object.keys(input)
  const isOne = (...ends: RangeEnd[]) => ends.filter((end) => given.includes(end)).length < 2
  if (
    given.length === 0 ||
    given.some((end) => !RANGE_ENDS.includes(end as RangeEnd)) ||
    !isOne('lt', 'lte') ||
    !isOne('gt', 'gte')
  ) {
    addProblem('must be a range with one of gt and gte, one of lt and lte, or both')
    return {}
  }
  const range: Range<T> = {}
  for (const end of RANGE_ENDS) {
    if (!Object.hasOwn(input, end)) continue
    const reading = read(input[end])
    if ('value' in reading) range[end] = reading.value
    else addProblem(reading.problem, end)
  }
  return range
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

/** A day, or a moment with its offset; without one it is UTC. */
const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[-+]\d\d:\d\d)?)?$/

const DAY_MICROSECONDS = 86_400_000_000n
const FIRST_MS = Date.parse('0001-01-01T00:00:00Z')

function readTime(value: unknown): Reading<Required<Span>> {
  const problem = 'must be a date such as 2026-03-01, or a time such as 2026-03-01T09:30:00Z'
  const parts = typeof value === 'string' ? TIME.exec(value) : null
  if (!parts) return { problem }
  const [, day = '', minute = '00:00', second = '00', fraction = '', offset = 'Z'] = parts
  const ms = Date.parse(`${day}T${minute}:${second}${offset}`)
  // JavaScript takes the 31st of February for a day in March, and Postgres has no year 0, also not by an offset.
  if (Number.isNaN(ms) || day < '0001' || ms < FIRST_MS || !isDay(day)) return { problem }
  const from = BigInt(ms) * 1_000n + BigInt(fraction.padEnd(6, '0'))
  return { value: { from, to: from + (parts[2] === undefined ? DAY_MICROSECONDS : 1n) } }
}

const isDay = (day: string): boolean => {
  const ms = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day)
}

/** After a day is from the next one on; up to a day is to its end. */
const spanOf = ({ gt, gte, lt, lte }: Range<Required<Span>>): Span => {
  const from = gt?.to ?? gte?.from
  const to = lte?.to ?? lt?.from
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
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
