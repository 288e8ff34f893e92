/**
 * What is due or over, one by one: organizations take turns, each is handled in a transaction of its own, and one that
 * cannot be handled keeps no other waiting.
 */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import type { Log, Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'

/** In one turn. */
const BATCH = sql.raw('100')

type Key = { readonly orgId: string; readonly id: string }

type Found<F extends Key> = {
  /** With "orgId", id, and place, by which those of one organization are ordered. */
  readonly rows: SQL
  /** Of one that was not handled, by its name in the log. */
  readonly warning: string
  readonly named: string
  readonly stopping?: AbortSignal | undefined
  /** False: it was no longer to be handled. */
  readonly handle: (tx: Transaction, one: F) => Promise<boolean>
}

/** Returns how many it handled. As long as some cannot be, it goes on with those behind them. */
export async function handleInTurns<F extends Key>(
  { db, log }: Pick<Storage, 'db'> & Log,
  { rows, warning, named, stopping, handle }: Found<F>,
): Promise<number> {
  const failed: string[] = []
  let handled = 0
  for (;;) {
    const before = failed.length
    const found = await db.execute(sql`
      select * from (${rows}) found
      where "orgId" || ' ' || id not in (select json_array_elements_text(${JSON.stringify(failed)}::text::json))
      order by row_number() over (partition by "orgId" order by place), place, "orgId" limit ${BATCH}`)
    for (const one of found as unknown as readonly F[]) {
      if (stopping?.aborted) break
      try {
        if (await withTransaction(db, (tx) => handle(tx, one))) handled++
      } catch (error) {
        failed.push(`${one.orgId} ${one.id}`)
        log.warn(warning, { [named]: one.id, error })
      }
    }
    if (failed.length === before || stopping?.aborted) return handled
  }
}
