/** Turns a filter into a condition on the real column, with typed parameters that an index can use. */
import { arrayLiteral, quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { FilterType } from '../../contracts/data-sources.ts'
import type { RangeEnd } from '../../contracts/data-sources.ts'
import type { Range, ReadFilter, Span } from './read-filters.ts'
import type { ColumnInfo } from './read-rows.ts'

type Match = {
  /** The array type of the parameter. */
  readonly array: string
  /** Whether the column must be turned into text first; an index on it is then of no use. */
  readonly asText?: boolean
  /** A value that the column's type cannot hold cannot match: it is left out instead of failing. */
  readonly holds?: (value: string) => boolean
  /** The column holds a list, and one of its values must match. */
  readonly isList?: boolean
  /** Of a range: its ends as the column's type can hold them. */
  readonly narrow?: (end: RangeEnd, value: number) => readonly [RangeEnd, number]
}

const UUID = /^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i
const isWhole = (value: string): boolean => /^-?\d+$/.test(value)
/** Postgres refuses what single precision would round to nothing; what it would round to infinity is refused before. */
const isSinglePrecision = (value: string): boolean => Number(value) === 0 || Math.fround(Number(value)) !== 0

/** Above 99.5 is from 100 on: compared as whole numbers, an index is of use. */
const toWhole = (end: RangeEnd, value: number): readonly [RangeEnd, number] => {
  if (Number.isInteger(value)) return [end, value]
  return isLower(end) ? ['gte', Math.ceil(value)] : ['lte', Math.floor(value)]
}
/** Between zero and the smallest number of single precision there is none. */
const toSinglePrecision = (end: RangeEnd, value: number): readonly [RangeEnd, number] => {
  if (isSinglePrecision(String(value))) return [end, value]
  return isLower(end) ? [value < 0 ? 'gte' : 'gt', 0] : [value < 0 ? 'lt' : 'lte', 0]
}
const isLower = (end: RangeEnd): boolean => end === 'gt' || end === 'gte'

const isWithin =
  (bits: bigint) =>
  (value: string): boolean =>
    isWhole(value) && BigInt.asIntN(Number(bits), BigInt(value)) === BigInt(value)

const MATCHES: Record<FilterType, Record<string, Match>> = {
  string: {
    text: { array: 'text[]' },
    varchar: { array: 'text[]' },
    bpchar: { array: 'bpchar[]' },
    name: { array: 'name[]' },
    citext: { array: 'text[]' },
    uuid: { array: 'uuid[]', holds: (value) => UUID.test(value) },
    date: { array: 'text[]', asText: true },
    time: { array: 'text[]', asText: true },
    _text: { array: 'text[]', isList: true },
    _varchar: { array: 'varchar[]', isList: true },
    _uuid: { array: 'uuid[]', isList: true, holds: (value) => UUID.test(value) },
  },
  number: {
    int2: { array: 'int8[]', holds: isWhole, narrow: toWhole },
    int4: { array: 'int8[]', holds: isWhole, narrow: toWhole },
    int8: { array: 'int8[]', holds: isWhole, narrow: toWhole },
    numeric: { array: 'numeric[]' },
    float4: { array: 'float4[]', holds: isSinglePrecision, narrow: toSinglePrecision },
    float8: { array: 'float8[]' },
    // Lists are compared with lists of the very same type.
    _int2: { array: 'int2[]', isList: true, holds: isWithin(16n) },
    _int4: { array: 'int4[]', isList: true, holds: isWithin(32n) },
    _int8: { array: 'int8[]', isList: true, holds: isWhole },
    _numeric: { array: 'numeric[]', isList: true },
    _float8: { array: 'float8[]', isList: true },
  },
  boolean: { bool: { array: 'bool[]' } },
  date: {
    date: { array: 'date[]' },
    timestamp: { array: 'timestamp[]' },
    timestamptz: { array: 'timestamptz[]' },
  },
}

export function matchOf(type: FilterType, column: ColumnInfo): Match | undefined {
  if (type === 'string' && column.kind === 'e') return { array: 'text[]', asText: true }
  return Object.hasOwn(MATCHES[type], column.type) ? MATCHES[type][column.type] : undefined
}

export const isRange = (filter: ReadFilter): boolean =>
  'range' in filter || ('isRange' in filter && filter.isRange)

export type Condition = { readonly text: string; readonly parameter: string }

/** Undefined when no row of the table can match: the column is not there, or cannot hold any of the values. */
export function conditionFor(
  filter: ReadFilter,
  column: ColumnInfo | undefined,
  placeholder: string,
): Condition | undefined {
  const match = column && matchOf(filter.type, column)
  if (!match) return undefined
  const name = quoteIdentifier(filter.column)
  const array = `${placeholder}::${match.array}`
  if ('spans' in filter) return spansCondition(filter.spans, name, array, column.type)
  if ('range' in filter) {
    return filter.type === 'number'
      ? rangeCondition(filter.range, name, array, match.narrow)
      : // Texts go by their characters, in the same order in every database.
        rangeCondition(filter.range, `${name}::text collate "C"`, `${placeholder}::text[]`)
  }
  const values = filter.values.map(String).filter((value) => match.holds?.(value) ?? true)
  if (values.length === 0) return undefined
  const parameter = arrayLiteral(values)
  if (match.isList) return { text: `${name} && ${array}`, parameter }
  return { text: `${match.asText ? `${name}::text` : name} = any(${array})`, parameter }
}

const OPERATORS: Record<RangeEnd, string> = { gt: '>', gte: '>=', lt: '<', lte: '<=' }

/** Both ends are one parameter. The planner reads its values, so that it estimates such a filter as any other. */
function rangeCondition<Value>(
  range: Range<Value>,
  left: string,
  array: string,
  narrow: (end: RangeEnd, value: Value) => readonly [RangeEnd, Value] = (end, value) => [end, value],
): Condition {
  const ends = (Object.entries(range) as [RangeEnd, Value][]).map(([end, value]) => narrow(end, value))
  return {
    text: ends.map(([end], at) => `${left} ${OPERATORS[end]} (${array})[${at + 1}]`).join(' and '),
    parameter: arrayLiteral(ends.map(([, value]) => String(value))),
  }
}

function spansCondition(
  spans: readonly Span[],
  left: string,
  array: string,
  type: string,
): Condition | undefined {
  const values: string[] = []
  const at = (time: bigint) => `(${array})[${values.push(timeLiteral(time, type))}]`
  const texts = spans.map(({ from, to }) =>
    [
      ...(from === undefined ? [] : [`${left} >= ${at(from)}`]),
      ...(to === undefined ? [] : [`${left} < ${at(to)}`]),
    ].join(' and '),
  )
  return { text: `(${texts.join(' or ')})`, parameter: arrayLiteral(values) }
}

const DAY_MS = 86_400_000

/** A day begins at midnight, UTC: what is from noon on is, of days, from the next one on. */
function timeLiteral(microseconds: bigint, type: string): string {
  const rest = ((microseconds % 1_000n) + 1_000n) % 1_000n
  const ms = Number((microseconds - rest) / 1_000n)
  if (type === 'date') {
    return isoTime(Math.ceil((ms + (rest > 0n ? 1 : 0)) / DAY_MS) * DAY_MS).replace(/T.*/, '')
  }
  const text = isoTime(ms)
  return `${text.slice(0, -1)}${String(rest).padStart(3, '0')}${type === 'timestamptz' ? 'Z' : ''}`
}

/** After the last day of 9999 comes a year that JavaScript writes as +010000, and Postgres as 10000. */
const isoTime = (ms: number): string => new Date(ms).toISOString().replace(/^\+0*/, '')
