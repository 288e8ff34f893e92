/**
 * Goes through a whole table in statements that each read a part of it. There is no index by time, which would cost every
 * write; and a statement over the whole table would take longer than it may once the table is large, and then never end.
 */
import type { SQL } from 'drizzle-orm'
import type { Database } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'

/** 64 MiB of a table are read in well under a second, from a slow disk in some. */
const BLOCKS = 8_192

/** `work` is called with the condition that names a part; rows that are added meanwhile are young, and not gone through. */
export async function inParts(
  db: Database,
  { table, blocks = BLOCKS }: { readonly table: string; readonly blocks?: number },
  work: (isInPart: SQL) => Promise<unknown>,
): Promise<void> {
  // Of a table that the operator has partitioned: the largest part, and a statement reads so much of each.
  const [size] = await db.execute<{ blocks: number; leaves: number }>(sql`
    select (coalesce(max(pg_relation_size(relid)), pg_relation_size(${table}::regclass))
      / current_setting('block_size')::int)::int as blocks, greatest(count(*), 1)::int as leaves
    from pg_partition_tree(${table}::regclass) where isleaf`)
  const column = sql.raw(`${table}.ctid`)
  const step = Math.max(1, Math.floor(blocks / size!.leaves))
  for (let from = 0; from < size!.blocks; from += step) {
    await work(sql`${column} >= ${`(${from},0)`}::tid and ${column} < ${`(${from + step},0)`}::tid`)
  }
}
