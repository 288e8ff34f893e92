/** What a row of each table takes on disk, with its indexes and what is stored out of line. */
import { connect } from '../db/connect.ts'

/** Below it the first page of each index decides. */
const ROWS_MIN = 500

type Size = { readonly name: string; readonly bytes: number }

export async function sizesOf(url: string): Promise<string[]> {
  const { sql, close } = await connect({ url }, { poolSize: 1 })
  try {
    await sql.query('vacuum')
    // Partitions count to the table that they are of.
    const tables = await sql.query<Size>(
      `select relname as name, coalesce(
        (select sum(pg_total_relation_size(relid)) from pg_partition_tree(oid)), pg_total_relation_size(oid))::float8 as bytes
      from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by relname`,
    )
    const lines: string[] = []
    for (const { name, bytes } of tables) {
      const [row] = await sql.query<{ count: number }>(`select count(*)::int as count from "${name}"`)
      if (row!.count < ROWS_MIN) continue
      lines.push(
        `  ${name.padEnd(24)} ${Math.round(bytes / row!.count).toLocaleString('en')} bytes, of ${row!.count.toLocaleString('en')} rows`,
      )
    }
    return lines
  } finally {
    await close()
  }
}
