/** What the database knows about a table: columns with their types, indexes, an estimate of its rows. */
import { STAGING_SCHEMA } from '../../../db/managed/drop-staged-table.ts'
import type { Queries } from '../databases/index.ts'
import { parseTableName, PASSAGES_SCHEMA } from './quote.ts'
import {
  checkRows,
  columnsIn,
  indexesIn,
  passagesIn,
  type ColumnInfo,
  type IndexInfo,
  type RowPassages,
} from './read-rows.ts'

export type TableInfo = {
  /** r table, p partitioned, v view, m materialized view, f foreign table. */
  readonly kind: string
  /** -1 when it was never analyzed. */
  readonly rows: number
  readonly columns: ReadonlyMap<string, ColumnInfo>
  readonly indexes: readonly IndexInfo[]
  /** Of rows whose text is longer than a model reads (row-passages.ts). */
  readonly passages?: RowPassages | undefined
  /** Whether our login may read all of its columns, the hidden ones of Postgres among them. */
  readonly isWhole: boolean
  /** Whether it may read what the planner knows of them. */
  readonly hasStatistics: boolean
}

/** One round trip. A table that our login cannot read does not exist. */
const SELECT_TABLES = `
select n.nspname::text as schema, c.relname::text as name, c.reltuples::float8 as rows, c.relkind::text as kind,
  has_table_privilege(c.oid, 'select') as whole, has_table_privilege('pg_catalog.pg_stats', 'select') as statistics,
  (select coalesce(json_agg(json_build_object('name', a.attname, 'type', t.typname, 'kind', t.typtype,
      'modifier', a.atttypmod, 'schema', tn.nspname, 'virtual', a.attgenerated = 'v') order by a.attnum), '[]')
    from pg_attribute a join pg_type t on t.oid = a.atttypid join pg_namespace tn on tn.oid = t.typnamespace
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
  (select coalesce(json_agg(json_build_object('column', a.attname, 'method', m.amname, 'operators', o.opcname)), '[]')
    from pg_index i join pg_class ic on ic.oid = i.indexrelid join pg_am m on m.oid = ic.relam
    join pg_opclass o on o.oid = i.indclass[0]
    left join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
    where i.indrelid = c.oid and i.indisvalid and i.indpred is null) as indexes,
  (select json_build_object('comment', obj_description(p.oid, 'pg_class'), 'rows', p.reltuples,
      'operators', (select coalesce(json_agg(o.opcname), '[]') from pg_index i join pg_opclass o on o.oid = i.indclass[0]
        where i.indrelid = p.oid and i.indisvalid and i.indpred is null))
    from pg_class p join pg_namespace pn on pn.oid = p.relnamespace and pn.nspname = '${PASSAGES_SCHEMA}'
    where p.relname = c.relname and p.relkind = 'r' and n.nspname = 'public'
      and has_schema_privilege(pn.oid, 'usage') and has_table_privilege(p.oid, 'select')) as passages
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f')
  and has_schema_privilege(n.oid, 'usage') and has_any_column_privilege(c.oid, 'select')`

const TABLE_INFO = `${SELECT_TABLES} and n.nspname = $1 and c.relname = $2`

/** Those with vectors first. Without partitions, which are parts of their table, what an extension brought, and what loads keep. */
const TABLES = `${SELECT_TABLES}
  and n.nspname not in ('pg_catalog', 'information_schema', '${PASSAGES_SCHEMA}', '${STAGING_SCHEMA}') and n.nspname !~ '^pg_' and not c.relispartition
  and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
order by exists (select from pg_attribute a join pg_type t on t.oid = a.atttypid
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and t.typname = 'vector') desc, 1, 2
limit $1::int`

/** JSON stays text on its way. */
type Row = {
  schema: string
  name: string
  rows: number
  kind: string
  whole: unknown
  statistics: unknown
  columns: string
  indexes: string
  passages: unknown
}

export async function readTableInfo(queries: Queries, name: string): Promise<TableInfo | undefined> {
  const { schema, table } = parseTableName(name)
  const rows = await queries.query<Row>(TABLE_INFO, [schema, table])
  checkRows(rows, { max: 1, texts: ['kind'], numbers: ['rows'] })
  const [row] = rows
  return row && tableInfoOf(row)
}

function tableInfoOf({ rows, kind, whole, statistics, columns: json, indexes, passages }: Row): TableInfo {
  const columns = new Map(columnsIn(json).map((column) => [column.name, column]))
  return {
    rows,
    kind,
    isWhole: whole === true,
    hasStatistics: statistics === true,
    columns,
    indexes: indexesIn(indexes),
    passages: passagesIn(passages, columns),
  }
}

/** By their names as configurations write them; at most so many. */
export async function readTables(queries: Queries, max: number): Promise<ReadonlyMap<string, TableInfo>> {
  const rows = await queries.query<Row>(TABLES, [String(max)])
  checkRows(rows, { max, texts: ['schema', 'name', 'kind'], numbers: ['rows'] })
  // A configuration cannot name what is in a schema with a dot in its name.
  const named = rows.filter(({ schema }) => !schema.includes('.'))
  return new Map(named.map((row) => [tableName(row), tableInfoOf(row)]))
}

/** Where a dot would be read as the end of the schema, the schema is always written. */
const tableName = ({ schema, name }: Pick<Row, 'schema' | 'name'>): string =>
  schema === 'public' && !name.includes('.') ? name : `${schema}.${name}`

/** Tables change rarely and questions come often. A change in between is noticed by the statement that fails. */
const CACHE_MS = 60_000
const CACHED_SOURCES_MAX = 1_000

export type TableInfoCache = {
  read(queries: Queries, table: string, now: Date): Promise<TableInfo | undefined>
  forget(queries: Queries): void
}

type CachedTable = { until: number; tableInfo: Promise<TableInfo | undefined> }

export function createTableInfoCache(): TableInfoCache {
  const cache = new Map<Queries, Map<string, CachedTable>>()
  return {
    read(queries, table, now) {
      const tables = cache.get(queries) ?? new Map<string, CachedTable>()
      const known = tables.get(table)
      if (known && known.until > now.getTime()) return known.tableInfo
      const tableInfo = readTableInfo(queries, table)
      // A failure is not cached.
      tableInfo.catch(() => tables.delete(table))
      // The oldest source is dropped.
      if (cache.size >= CACHED_SOURCES_MAX) cache.delete(cache.keys().next().value!)
      tables.set(table, { until: now.getTime() + CACHE_MS, tableInfo })
      cache.set(queries, tables)
      return tableInfo
    },
    forget: (queries) => void cache.delete(queries),
  }
}
