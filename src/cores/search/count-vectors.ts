/** How many rows a table has, and how many of them have no vector: counted, or of a large one estimated. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { Queries } from '../databases/index.ts'
import { parseTableName, quoteTable } from './quote.ts'
import { countIn } from './read-rows.ts'
import type { TableInfo } from './table-info.ts'

/** Rows that are counted. Of a larger table the planner's statistics are asked. */
const COUNTED_MAX = 100_000

export type Counted = { readonly rows: number; readonly without: number; readonly isEstimated: boolean }

export async function countVectors(
  queries: Queries,
  { table, vector }: { readonly table: string; readonly vector: string | undefined },
  tableInfo: TableInfo,
): Promise<Counted> {
  const [counted] = await queries.query<{ rows: number; without: number }>(
    `select count(*)::int as rows, (count(*) - count(v))::int as without ` +
      `from (select ${vector === undefined ? 'true' : quoteIdentifier(vector)} as v from ${quoteTable(table)} limit ${COUNTED_MAX + 1}) counted`,
  )
  const [rows, without] = [countIn(counted, 'rows'), countIn(counted, 'without')]
  if (rows <= COUNTED_MAX || vector === undefined) return { rows, without, isEstimated: rows > COUNTED_MAX }
  const name = parseTableName(table)
  const [known] = await queries.query<{ share: number }>(
    'select null_frac::float8 as share from pg_catalog.pg_stats where schemaname = $1 and tablename = $2 and attname = $3',
    [name.schema, name.table, vector],
  )
  const all = Math.max(rows, tableInfo.rows)
  return { rows: all, without: Math.round(all * (known?.share ?? without / rows)), isEstimated: true }
}
