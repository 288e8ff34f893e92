/** The public schema as SQL, read from the catalog: the contents of db/schema.sql, the same on every engine. */
import type { SqlQueries } from '../../db/connect.ts'

type Column = {
  table: string
  column: string
  type: string
  required: boolean
  default: string | null
  identity: string
  generated: string
}
/** `by` of a table with partitions, `of` and `bound` of a partition. */
type Partition = { table: string; by: string | null; of: string | null; bound: string | null }
type Definition = { table: string; name: string; definition: string }

export async function dumpSchema(sql: SqlQueries): Promise<string> {
  const columns = await sql.query<Column>(COLUMNS)
  const constraints = inOrder(await sql.query<Definition>(CONSTRAINTS))
  const partitions = new Map(
    (await sql.query<Partition>(PARTITIONS)).map((partition) => [partition.table, partition]),
  )
  const indexes = inOrder(await sql.query<Definition>(INDEXES))
  const triggers = inOrder(await sql.query<Definition>(TRIGGERS))
  const functions = inOrder(await sql.query<Definition>(FUNCTIONS))
  const tables = [...Map.groupBy(columns, ({ table }) => table)].toSorted(([a], [b]) => compare(a, b))
  const texts = tables.map(([table, columns]) => {
    const { by, of, bound } = partitions.get(table) ?? {}
    // It has what its table has.
    if (of) return `CREATE TABLE ${table} PARTITION OF ${of} ${bound};\n`
    const lines = [
      ...columns.map(columnLine),
      ...constraints.filter((c) => c.table === table).map((c) => `CONSTRAINT ${c.name} ${c.definition}`),
    ]
    const statements = [
      `CREATE TABLE ${table} (\n${lines.map((line) => `  ${line}`).join(',\n')}\n)${by ? ` PARTITION BY ${by}` : ''};\n`,
      ...indexes.filter((index) => index.table === table).map((index) => `${index.definition};\n`),
      ...triggers.filter((trigger) => trigger.table === table).map(({ definition }) => `${definition};\n`),
    ]
    return statements.join('')
  })
  return [...texts, ...functions.map(({ definition }) => `${definition.trimEnd()};\n`)].join('\n')
}

function columnLine({ column, type, required, default: value, identity, generated }: Column): string {
  const words = [column, type]
  if (required) words.push('NOT NULL')
  if (identity) words.push(`GENERATED ${identity === 'a' ? 'ALWAYS' : 'BY DEFAULT'} AS IDENTITY`)
  else if (generated) words.push(`GENERATED ALWAYS AS (${value}) ${generated === 's' ? 'STORED' : 'VIRTUAL'}`)
  else if (value !== null) words.push(`DEFAULT ${value}`)
  return words.join(' ')
}

/** By code units: the database's own order depends on its locale. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const inOrder = (definitions: readonly Definition[]): Definition[] =>
  definitions.toSorted((a, b) => compare(a.name, b.name))

const COLUMNS = `
select quote_ident(c.relname) as table, quote_ident(a.attname) as column, format_type(a.atttypid, a.atttypmod) as type,
  a.attnotnull as required, pg_get_expr(d.adbin, d.adrelid) as default, a.attidentity as identity,
  a.attgenerated as generated
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
  -- Partitions of a day or a month are made later.
  and (not c.relispartition or pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT')
order by c.oid, a.attnum`

const PARTITIONS = `
select quote_ident(c.relname) as table, pg_get_partkeydef(c.oid) as by, i.inhparent::regclass::text as of,
  pg_get_expr(c.relpartbound, c.oid) as bound
from pg_class c left join pg_inherits i on i.inhrelid = c.oid
where c.relnamespace = 'public'::regnamespace and (c.relkind = 'p' or c.relispartition and c.relkind = 'r')`

/** Only these kinds: from Postgres 18 on every NOT NULL is a constraint too. */
const CONSTRAINTS = `
select quote_ident(c.relname) as table, quote_ident(k.conname) as name, pg_get_constraintdef(k.oid) as definition
from pg_constraint k
join pg_class c on c.oid = k.conrelid
where c.relnamespace = 'public'::regnamespace and k.contype in ('p', 'u', 'f', 'c', 'x')`

/** Those that do not belong to a constraint. */
const INDEXES = `
select quote_ident(c.relname) as table, i.relname as name, pg_get_indexdef(i.oid) as definition
from pg_index x
join pg_class i on i.oid = x.indexrelid
join pg_class c on c.oid = x.indrelid
where c.relnamespace = 'public'::regnamespace
  and not exists (select from pg_constraint k where k.conindid = i.oid and k.contype in ('p', 'u', 'x'))`

/** Those of foreign keys are the database's own. */
const TRIGGERS = `
select quote_ident(c.relname) as table, t.tgname as name, pg_get_triggerdef(t.oid) as definition
from pg_trigger t
join pg_class c on c.oid = t.tgrelid
where c.relnamespace = 'public'::regnamespace and not t.tgisinternal`

/** Those of an extension come with it. */
const FUNCTIONS = `
select '' as table, p.proname as name, pg_get_functiondef(p.oid) as definition
from pg_proc p
where p.pronamespace = 'public'::regnamespace
  and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`
