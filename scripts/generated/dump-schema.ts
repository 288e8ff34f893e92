/** The public schema as SQL, read from the catalog: the contents of db/schema.sql, the same on every engine. */
import type { Sql } from '../../db/connect.ts'

type Column = {
  table: string
  column: string
  type: string
  required: boolean
  default: string | null
  identity: string
  generated: string
}
type Definition = { table: string; name: string; definition: string }

export async function dumpSchema(sql: Sql): Promise<string> {
  const columns = await sql.query<Column>(COLUMNS)
  const constraints = inOrder(await sql.query<Definition>(CONSTRAINTS))
  const indexes = inOrder(await sql.query<Definition>(INDEXES))
  const tables = [...Map.groupBy(columns, ({ table }) => table)].toSorted(([a], [b]) => compare(a, b))
  return tables
    .map(([table, columns]) => {
      const lines = [
        ...columns.map(columnLine),
        ...constraints.filter((c) => c.table === table).map((c) => `CONSTRAINT ${c.name} ${c.definition}`),
      ]
      const statements = [
        `CREATE TABLE ${table} (\n${lines.map((line) => `  ${line}`).join(',\n')}\n);\n`,
        ...indexes.filter((index) => index.table === table).map((index) => `${index.definition};\n`),
      ]
      return statements.join('')
    })
    .join('\n')
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
order by c.oid, a.attnum`

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
