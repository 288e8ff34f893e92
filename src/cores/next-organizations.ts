/**
 * The organizations whose turn it is, of those that have work: whoever is asked the next time goes on behind them, and from
 * the last to the first. From one to the next is one step in an index, so it takes as long with ten thousand as with ten.
 * Each is locked until the end of the transaction, and left out while another worker has it: any number work at once, and one
 * at a time for each organization.
 */
import type { SQL } from 'drizzle-orm'
import type { Database, Transaction } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'

type Waiting = {
  readonly table: 'outbox' | 'events'
  readonly isWaiting: SQL
  /** An arbitrary number, beside the organization's own. */
  readonly lock: number
}

type Turn = { readonly db: Database; readonly tx: Transaction; readonly atMost: number }

/** Where a process is. What another one does not know of it costs nobody their turn. */
const places = new WeakMap<Database, Map<Waiting, string>>()

/** A statement of its own: what is read afterwards is what the last holder left. */
export async function nextOrganizations(
  { db, tx, atMost }: Turn,
  waiting: Waiting,
): Promise<readonly { readonly org_id: string }[]> {
  const place = places.get(db) ?? new Map<Waiting, string>()
  places.set(db, place)
  const after = place.get(waiting) ?? ''
  const found = await walk(tx, waiting, { after, atMost })
  const isEnd = found.length < atMost
  const rest =
    isEnd && after !== ''
      ? await walk(tx, waiting, { after: '', upTo: after, atMost: atMost - found.length })
      : []
  const last = [...found, ...rest].at(-1)
  // Where all of them were found the next walk begins at the first.
  if (last && found.length + rest.length === atMost) place.set(waiting, last.org_id)
  else place.delete(waiting)
  return [...found, ...rest].filter(({ taken }) => taken)
}

export const tryLock = (lock: number, orgId: SQL): SQL =>
  sql`pg_try_advisory_xact_lock(${sql.raw(String(lock))}, hashtext(${orgId}))`

type Stretch = { readonly after: string; readonly upTo?: string; readonly atMost: number }

async function walk(tx: Transaction, { table, isWaiting, lock }: Waiting, { after, upTo, atMost }: Stretch) {
  const from = sql.raw(table)
  const isInReach = upTo === undefined ? sql`` : sql`and org_id <= ${upTo}`
  return tx.execute<{ org_id: string; taken: boolean }>(sql`
    with recursive organization(org_id, place) as (
      (select org_id, 1 from ${from} where ${isWaiting} and org_id > ${after} ${isInReach} order by org_id limit 1)
      union all
      select next.org_id, o.place + 1 from organization o cross join lateral (
        select org_id from ${from} where ${isWaiting} and org_id > o.org_id ${isInReach} order by org_id limit 1
      ) next
      where o.place < ${String(atMost)}::int
    )
    select org_id, ${tryLock(lock, sql`org_id`)} as taken from organization order by place`)
}
