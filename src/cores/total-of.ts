/** How many rows a list has on all its pages. */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'
import { COUNT_MAX } from '../contracts/limits.ts'

type Asked = { readonly count: boolean; readonly cursor?: string | undefined }
type Page = { readonly rows: readonly unknown[]; readonly next_cursor?: string | undefined }

/** `matching` selects the rows of all pages. A list that fits one page is not counted a second time. */
export async function totalOf(
  db: Handle,
  { count, cursor }: Asked,
  { rows, next_cursor }: Page,
  matching: () => { getSQL(): SQL },
): Promise<{ total?: number }> {
  if (!count) return {}
  if (cursor === undefined && next_cursor === undefined) return { total: rows.length }
  const [counted] = (await db.execute(
    sql`select count(*)::int as total from (${matching().getSQL()} limit ${sql.raw(String(COUNT_MAX))}) as matching`,
  )) as unknown as { total: number }[]
  return { total: counted?.total ?? 0 }
}
