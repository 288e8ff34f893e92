/** Whether a filter holds: for one value in memory, and as a condition of a statement. */
import type { SQL } from 'drizzle-orm'
import { and, not, or, sql } from '../../../db/drizzle.ts'
import type { Comparison, Filter, FilterValue } from './parse-filter.ts'
import { ScimError } from './scim-error.ts'

/** By names in lower case. */
type Value = Readonly<Record<string, FilterValue>>

/** Of the value of an attribute with several; a name that it does not have holds for nothing. */
export function matchesFilter(filter: Filter, value: Value): boolean {
  if (filter.op === 'and') return filter.of.every((one) => matchesFilter(one, value))
  if (filter.op === 'or') return filter.of.some((one) => matchesFilter(one, value))
  if (filter.op === 'not') return !matchesFilter(filter.of, value)
  if (filter.op === 'has') return false
  const own = Object.hasOwn(value, filter.attribute) ? value[filter.attribute]! : null
  return filter.op === 'pr' ? own !== null : compares(filter.op, own, filter.value)
}

function compares(op: Comparison, left: FilterValue, right: FilterValue): boolean {
  const [a, b] = [foldCase(left), foldCase(right)]
  if (op === 'eq') return a === b
  if (op === 'ne') return a !== b
  if (typeof a !== 'string' || typeof b !== 'string') return false
  switch (op) {
    case 'co':
      return a.includes(b)
    case 'sw':
      return a.startsWith(b)
    case 'ew':
      return a.endsWith(b)
    case 'gt':
      return a > b
    case 'ge':
      return a >= b
    case 'lt':
      return a < b
    case 'le':
      return a <= b
  }
}

const foldCase = (value: FilterValue): FilterValue =>
  typeof value === 'string' ? value.toLowerCase() : value

/** What can be asked for. `text`: its expression is in lower case, unless it is exact. */
export type Column =
  | { readonly is: 'text' | 'exact' | 'time'; readonly as: SQL }
  | { readonly is: 'truth'; readonly as: SQL }
  /** Of many: whoever is asked for by a value. */
  | { readonly is: 'member'; readonly has: (value: string) => SQL }

export type Columns = Readonly<Record<string, Column>>

const unknown = () => new ScimError('invalidFilter', 'The filter asks for something that is not there')

export function conditionOf(filter: Filter, columns: Columns, within = ''): SQL {
  if (filter.op === 'and') return and(...filter.of.map((one) => conditionOf(one, columns, within)))!
  if (filter.op === 'or') return or(...filter.of.map((one) => conditionOf(one, columns, within)))!
  // Where something is missing, nothing is known: then it does not hold.
  if (filter.op === 'not') return not(sql`coalesce(${conditionOf(filter.of, columns, within)}, false)`)
  if (filter.op === 'has') {
    if (within !== '') throw unknown()
    return conditionOf(filter.of, columns, `${filter.attribute}.`)
  }
  const name = within + filter.attribute
  // Not `constructor`, which every object has.
  const column = Object.hasOwn(columns, name) ? columns[name] : undefined
  if (!column) throw unknown()
  if (filter.op !== 'pr') return comparisonOf(column, filter.op, filter.value)
  if (column.is === 'member') throw unknown()
  return sql`${column.as} is not null`
}

const ORDERS: Partial<Record<Comparison, SQL>> = { gt: sql`>`, ge: sql`>=`, lt: sql`<`, le: sql`<=` }

function comparisonOf(column: Column, op: Comparison, value: FilterValue): SQL {
  if (column.is === 'member') {
    if (op !== 'eq' || typeof value !== 'string') throw unknown()
    return column.has(value)
  }
  if (column.is === 'truth') {
    const truth = typeof value === 'string' ? readTruth(value) : value
    if (typeof truth !== 'boolean' || (op !== 'eq' && op !== 'ne')) throw unknown()
    return sql`${column.as} = ${op === 'eq' ? truth : !truth}`
  }
  if (typeof value !== 'string' || value.includes('\0')) throw unknown()
  if (column.is === 'time') return timeComparison(column.as, op, value)
  const text = column.is === 'text' ? value.toLowerCase() : value
  const order = ORDERS[op]
  if (order) return sql`${column.as} ${order} ${text}`
  if (op === 'eq') return sql`${column.as} = ${text}`
  if (op === 'ne') return sql`${column.as} is distinct from ${text}`
  if (op === 'co') return sql`position(${text} in ${column.as}) > 0`
  if (op === 'sw') return sql`starts_with(${column.as}, ${text})`
  return sql`right(${column.as}, length(${text})) = ${text}`
}

function timeComparison(column: SQL, op: Comparison, value: string): SQL {
  const ms = Date.parse(value)
  const order = op === 'eq' ? sql`=` : ORDERS[op]
  // Postgres knows other years than JavaScript.
  if (!order || Number.isNaN(ms) || ms < 0 || ms > Date.UTC(9999, 0)) throw unknown()
  return sql`${column} ${order} ${new Date(ms).toISOString()}::timestamptz`
}

/** Entra sends truth as text. */
export function readTruth(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value.toLowerCase() : ''
  return text === 'true' ? true : text === 'false' ? false : undefined
}
