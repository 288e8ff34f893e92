/**
 * Runs a prepared query of drizzle (0.45) with what is the same at every run worked out once: which value goes where, and
 * which column of a row becomes which field. Drizzle looks at the kind of each value, column and decoder anew for each row,
 * and goes through spans and a cache that nobody here uses: on the hot path that took longer than the driver itself.
 * Statements, values, rows and errors are drizzle's own.
 */
import type { Column, SQL } from 'drizzle-orm'
import type postgres from 'postgres'
import { columnKind, getTableName, is, paramKind, placeholderKind, QueryError, sqlKind } from './drizzle.ts'

type Values = Readonly<Record<string, unknown>>
type Runnable = { execute(values?: Record<string, unknown>): Promise<unknown> }

/** What drizzle's types leave out. */
type Prepared = {
  readonly client: Pick<postgres.Sql, 'unsafe'>
  readonly queryString: string
  readonly params: readonly unknown[]
  readonly fields: readonly Field[] | undefined
  readonly joinsNotNullableMap: Readonly<Record<string, boolean>> | undefined
  readonly customResultMapper: unknown
  readonly logger: { logQuery(text: string, parameters: unknown[]): void }
  readonly prepare: boolean
}
type Field = { readonly path: readonly string[]; readonly field: Column | SQL | { sql: SQL } }
type Row = Record<string, unknown>

export function directQuery<Query extends Runnable>(query: Query): Query {
  const prepared = query as unknown as Prepared
  // One that nobody here writes stays drizzle's: with a mapper of its own, or fields that are no values.
  if (prepared.customResultMapper || prepared.fields?.every(isSimple) === false) return query
  const { client, queryString: text, fields, logger, prepare } = prepared
  const readers = prepared.params.map(readerOf)
  const rowOf = fields && rowMapper(fields, prepared.joinsNotNullableMap)
  async function execute(values: Values = {}): Promise<unknown> {
    const parameters = readers.map((read) => read(values)) as never[]
    logger.logQuery(text, parameters)
    const sent = client.unsafe(text, parameters, { prepare })
    const received = await (rowOf ? sent.values() : sent).catch((error: unknown) => {
      throw new QueryError(text, parameters, error as Error)
    })
    return rowOf ? (received as unknown[][]).map(rowOf) : received
  }
  return Object.assign(query, { execute })
}

const isSimple = ({ path, field }: Field): boolean =>
  path.length <= 2 && (is(field, columnKind) || is(field, sqlKind) || 'sql' in field)

function readerOf(parameter: unknown): (values: Values) => unknown {
  if (is(parameter, placeholderKind)) return valueOf(parameter.name)
  if (!is(parameter, paramKind) || !is(parameter.value, placeholderKind)) return () => parameter
  const read = valueOf(parameter.value.name)
  const { encoder } = parameter
  return (values) => encoder.mapToDriverValue(read(values))
}

const valueOf = (name: string) => (values: Values) => {
  if (!(name in values)) throw new Error(`No value for placeholder "${name}" was provided`)
  return values[name]
}

type Cell = {
  readonly parent: string | undefined
  readonly name: string
  readonly read: (value: unknown) => unknown
}

function rowMapper(fields: readonly Field[], notNullable: Prepared['joinsNotNullableMap']) {
  const cells = fields.map(({ path, field }): Cell => {
    const decoder = decoderOf(field)
    const [first, second] = path as [string, string?]
    return {
      parent: second === undefined ? undefined : first,
      name: second ?? first,
      read: (value) => (value === null ? null : decoder.mapFromDriverValue(value)),
    }
  })
  const absent = notNullable ? absentParents(fields, notNullable) : []
  return (values: readonly unknown[]): Row => {
    const row: Row = {}
    for (let at = 0; at < cells.length; at += 1) {
      const { parent, name, read } = cells[at]!
      const target = parent === undefined ? row : ((row[parent] ??= {}) as Row)
      target[name] = read(values[at])
    }
    for (const { parent, first } of absent) if (values[first] === null) row[parent] = null
    return row
  }
}

const decoderOf = (field: Field['field']): { mapFromDriverValue(value: unknown): unknown } => {
  if (is(field, columnKind)) return field
  const { decoder } = (is(field, sqlKind) ? field : field.sql) as unknown as {
    decoder: { mapFromDriverValue(value: unknown): unknown }
  }
  return decoder
}

/** Tables that a join may leave without a row, known by their first column: all of theirs is then one null. */
function absentParents(fields: readonly Field[], notNullable: Readonly<Record<string, boolean>>) {
  const parents = new Map<string, { first: number; tables: Set<string> }>()
  for (const [at, { path, field }] of fields.entries()) {
    if (path.length !== 2 || !is(field, columnKind)) continue
    const known = parents.get(path[0]!) ?? { first: at, tables: new Set<string>() }
    parents.set(path[0]!, known)
    known.tables.add(getTableName(field.table))
  }
  return [...parents].flatMap(([parent, { first, tables }]) => {
    const [table] = tables
    return tables.size === 1 && !notNullable[table!] ? [{ parent, first }] : []
  })
}
