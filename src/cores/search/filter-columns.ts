/** Turns a filter into a condition on the real column, with typed parameters that an index can use. */
import { arrayLiteral, quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { FilterType } from '../../contracts/data-sources.ts'
import type { ReadFilter } from './read-filters.ts'
import type { ColumnInfo } from './read-rows.ts'

type Match = {
  /** The array type of the parameter. */
  readonly array: string
  /** Whether the column must be turned into text first; an index on it is then of no use. */
  readonly asText?: boolean
  /** A value that the column's type cannot hold cannot match: it is left out instead of failing. */
  readonly holds?: (value: string) => boolean
}

const UUID = /^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i
const isWhole = (value: string): boolean => /^-?\d+$/.test(value)
/** Postgres refuses what single precision would round to nothing; what it would round to infinity is refused before. */
const isSinglePrecision = (value: string): boolean => Number(value) === 0 || Math.fround(Number(value)) !== 0

const MATCHES: Record<FilterType, Record<string, Match>> = {
  string: {
    text: { array: 'text[]' },
    varchar: { array: 'text[]' },
    bpchar: { array: 'bpchar[]' },
    name: { array: 'name[]' },
    citext: { array: 'text[]' },
    uuid: { array: 'uuid[]', holds: (value) => UUID.test(value) },
    date: { array: 'text[]', asText: true },
  },
  number: {
    int2: { array: 'int8[]', holds: isWhole },
    int4: { array: 'int8[]', holds: isWhole },
    int8: { array: 'int8[]', holds: isWhole },
    numeric: { array: 'numeric[]' },
    float4: { array: 'float4[]', holds: isSinglePrecision },
    float8: { array: 'float8[]' },
  },
  boolean: { bool: { array: 'bool[]' } },
}

export function matchOf(type: FilterType, column: ColumnInfo): Match | undefined {
  if (type === 'string' && column.kind === 'e') return { array: 'text[]', asText: true }
  return Object.hasOwn(MATCHES[type], column.type) ? MATCHES[type][column.type] : undefined
}

export type Condition = { readonly text: string; readonly parameter: string }

/** Undefined when no row of the table can match: the column is not there, or cannot hold any of the values. */
export function conditionFor(
  filter: ReadFilter,
  column: ColumnInfo | undefined,
  placeholder: string,
): Condition | undefined {
  const match = column && matchOf(filter.type, column)
  if (!match) return undefined
  const values = filter.values.map(String).filter((value) => match.holds?.(value) ?? true)
  if (values.length === 0) return undefined
  const left = match.asText ? `${quoteIdentifier(filter.column)}::text` : quoteIdentifier(filter.column)
  return { text: `${left} = any(${placeholder}::${match.array})`, parameter: arrayLiteral(values) }
}
