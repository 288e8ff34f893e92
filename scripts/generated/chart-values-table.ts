/** The tables of values in docs/self-hosting.md: descriptions of the schema, defaults of the chart. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { CHART_SERVICES, valuesSchema, type ValueSchema } from './chart-schema.ts'
import { table } from './table.ts'

const CHART = join(import.meta.dirname, '../../chart')
const readValues = (path: string): unknown => parse(readFileSync(join(CHART, path), 'utf8'))

type Row = { readonly value: string; readonly description: string; readonly default: string }

/** Values of the whole chart, and those that one service alone has. */
export function ownValuesTable(): string {
  const { properties = {} } = valuesSchema()
  const shared = new Set(Object.keys(properties['console']?.properties ?? {}))
  const rows = Object.entries(properties).flatMap(([name, schema]) =>
    CHART_SERVICES.includes(name)
      ? rowsOf(without(schema, shared), name, defaultsOf(name))
      : rowsOf(schema, name, field(readValues('values.yaml'), name)),
  )
  return rowsTable(rows)
}

/** Values that every service has. */
export function serviceValuesTable(): string {
  const { properties = {} } = valuesSchema()
  const schema = without(properties['console']!, new Set(['global']))
  const rows = rowsOf(schema, '<service>', readValues('charts/console/values.yaml'))
  const differing = new Set(['<service>.replicas', '<service>.resources'])
  return rowsTable(
    rows.map((row) => (differing.has(row.value) ? { ...row, default: 'differs by service' } : row)),
  )
}

const rowsTable = (rows: readonly Row[]): string =>
  table(
    ['Value', 'Description', 'Default'],
    rows.map((row) => [`\`${row.value}\``, row.description, row.default]),
  )

const defaultsOf = (service: string): unknown => ({
  ...(readValues(`charts/${service}/values.yaml`) as object),
  ...(field(readValues('values.yaml'), service) as object | undefined),
})

const without = (schema: ValueSchema, names: ReadonlySet<string>): ValueSchema => ({
  ...schema,
  properties: Object.fromEntries(
    Object.entries(schema.properties ?? {}).filter(([name]) => !names.has(name)),
  ),
})

function rowsOf(schema: ValueSchema, path: string, value: unknown): Row[] {
  const { $ref, properties } = schema
  // A group that is shared is one row: what it may contain is explained elsewhere.
  const shared = $ref === undefined ? undefined : valuesSchema().definitions?.[$ref.replace(/^.*\//, '')]
  if (properties === undefined) {
    return [{ value: path, description: (shared ?? schema).description ?? '', default: shown(value) }]
  }
  return Object.entries(properties).flatMap(([name, below]) =>
    rowsOf(below, `${path}.${name}`, field(value, name)),
  )
}

const field = (value: unknown, name: string): unknown =>
  (value as Record<string, unknown> | undefined)?.[name]

function shown(value: unknown): string {
  const isEmpty = value === '' || JSON.stringify(value) === '[]' || JSON.stringify(value) === '{}'
  return value === undefined || isEmpty
    ? ''
    : `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
}
