/**
 * Up to where rows are settled: whoever wrote one of them has ended. Nobody who writes waits for this. A row gets its number while
 * its transaction holds the lock that every insert takes; so when all who hold that lock after the number was read are gone,
 * everything up to it is either visible or will never be.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '../../../db/drizzle.ts'
import type { Log, Storage } from '../dependencies.ts'

const PAUSE_MS = { first: 20, most: 1_000 }
/** Whoever seals comes again every minute. */
const PATIENCE_MS = 50_000

/** Undefined: it was stopped while a transaction was open, or one does not end. */
export async function settledOrder(
  { db, clock, log }: Storage & Log,
  stopping?: AbortSignal,
): Promise<number | undefined> {
  const [last] = await db.execute<{ order: number }>(
    sql`select (case when is_called then last_value else 0 end)::float8 as order from trail_order`,
  )
  let open = await readWriters(db)
  const began = clock().getTime()
  for (let pause = PAUSE_MS.first; open.length > 0; pause = Math.min(pause * 2, PAUSE_MS.most)) {
    if (stopping?.aborted) return undefined
    await sleep(pause)
    const now = new Set(await readWriters(db))
    open = open.filter((one) => now.has(one))
    if (open.length > 0 && clock().getTime() - began > PATIENCE_MS) {
      log.warn('the trail is not sealed: a transaction that writes to it does not end', {
        transactions: open,
      })
      return undefined
    }
  }
  return last!.order
}

/** Also prepared ones. None has the name of another, before or after. */
async function readWriters(db: Storage['db']): Promise<string[]> {
  const rows = await db.execute<{ name: string }>(sql`
    select distinct virtualtransaction || coalesce('/' || pid, '') as name from pg_locks
    where locktype = 'relation' and granted and mode = 'RowExclusiveLock' and pid is distinct from pg_backend_pid()
      and database = (select oid from pg_database where datname = current_database())
      and relation in ('activity'::regclass, 'audit_log'::regclass)`)
  return rows.map(({ name }) => name)
}
