/** What the database itself says about a table: columns with their types, indexes, a guess at its rows. */
import type { Queries } from '../databases/index.ts'
import { tableOf } from './quote.ts'

export type ColumnFacts = {
  readonly name: string
  readonly type: string
  /** b base, e enum, d domain … */
  readonly kind: string
  /** Of a vector its dimensions, or -1. */
  readonly modifier: number
  /** Where the type lives: pgvector may be installed in any schema. */
  readonly schema: string
}

export type IndexFacts = {
  readonly column: string | null
  readonly method: string
  readonly operators: string
}

export type TableFacts = {
  /** -1 when nobody has counted yet. */
  readonly rows: number
  readonly columns: ReadonlyMap<string, ColumnFacts>
  readonly indexes: readonly IndexFacts[]
}

/** One round trip. A table that cannot be read by us does not exist for us. */
const FACTS = `
select c.reltuples::float8 as rows,
  (select coalesce(json_agg(json_build_object('name', a.attname, 'type', t.typname, 'kind', t.typtype,
      'modifier', a.atttypmod, 'schema', tn.nspname)), '[]')
    from pg_attribute a join pg_type t on t.oid = a.atttypid join pg_namespace tn on tn.oid = t.typnamespace
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
  (select coalesce(json_agg(json_build_object('column', a.attname, 'method', m.amname, 'operators', o.opcname)), '[]')
    from pg_index i join pg_class ic on ic.oid = i.indexrelid join pg_am m on m.oid = ic.relam
    join pg_opclass o on o.oid = i.indclass[0]
    left join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
    where i.indrelid = c.oid and i.indisvalid and i.indpred is null) as indexes
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = $1 and c.relname = $2 and c.relkind in ('r', 'p', 'v', 'm', 'f')
  and has_schema_privilege(n.oid, 'usage') and has_any_column_privilege(c.oid, 'select')`

type Row = { rows: number; columns: ColumnFacts[]; indexes: IndexFacts[] }

export async function readTableFacts(queries: Queries, name: string): Promise<TableFacts | undefined> {
  const { schema, table } = tableOf(name)
  const [row] = await queries.query<Row>(FACTS, [schema, table])
  if (!row) return undefined
  return {
    rows: row.rows,
    columns: new Map(row.columns.map((column) => [column.name, column])),
    indexes: row.indexes,
  }
}

/** Facts change slowly and questions come often. What changed in between is noticed by the statement that fails. */
const KEPT_MS = 60_000
const KEPT_TABLES = 1_000

export type FactsKeeper = {
  read(queries: Queries, table: string, now: Date): Promise<TableFacts | undefined>
  forget(queries: Queries): void
}

export function keepFacts(): FactsKeeper {
  const kept = new Map<Queries, Map<string, { until: number; facts: Promise<TableFacts | undefined> }>>()
  return {
    read(queries, table, now) {
      const own =
        kept.get(queries) ?? new Map<string, { until: number; facts: Promise<TableFacts | undefined> }>()
      const known = own.get(table)
      if (known && known.until > now.getTime()) return known.facts
      const facts = readTableFacts(queries, table)
      // A failure is told once and not kept.
      facts.catch(() => own.delete(table))
      // The oldest source goes; it is asked again when it is asked again.
      if (kept.size >= KEPT_TABLES) kept.delete(kept.keys().next().value!)
      own.set(table, { until: now.getTime() + KEPT_MS, facts })
      kept.set(queries, own)
      return facts
    },
    forget: (queries) => void kept.delete(queries),
  }
}
