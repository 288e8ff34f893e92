/** Claims: the first of several that is still free, or a fair choice of all that is due. */
import type { SQL } from 'drizzle-orm'
import type { Database, Transaction } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { withTransaction } from '../transaction.ts'

/** Others may be taking the first ones: whether one is still free is asked under its lock. */
export async function claimFirst<C, T>(
  db: Database,
  candidates: readonly C[],
  take: (tx: Transaction, candidate: C) => Promise<T | undefined>,
): Promise<T | undefined> {
  for (const candidate of candidates) {
    const claimed = await withTransaction(db, (tx) => take(tx, candidate))
    if (claimed !== undefined) return claimed
  }
  return undefined
}

/**
 * The time of this process, but not one that the database has not reached yet: a process whose clock is ahead would find
 * everything due, and give it a next time that is far away.
 */
export const notAhead = (now: Date) => sql`least(${now.toISOString()}::timestamptz, statement_timestamp())`

type Waiting = {
  /** With "orgId", id, and place, by which those of one organization are ordered. */
  readonly rows: SQL
  /** Table and condition of what is under way, whosever it is. */
  readonly underWay: SQL
  /** Of an organization at a time. Left out: any number. */
  readonly most?: number
  readonly candidates: number
}

/** For `claimFirst`: of the organizations with the fewest under way first, and of each in its order. */
export function fewestFirst({ rows, underWay, most, candidates }: Waiting): SQL {
  const hasCapacity = most === undefined ? sql`true` : sql`coalesce(n, 0) < ${sql.raw(String(most))}`
  return sql`
    select waiting.* from (
      select *, row_number() over (partition by "orgId" order by place, id) as nth from (${rows}) found
    ) waiting
    left join (select org_id, count(*) as n from ${underWay} group by org_id) under_way on org_id = "orgId"
    where ${hasCapacity}
    order by coalesce(n, 0) + nth, place, id limit ${sql.raw(String(candidates))}`
}

/** Column names and conditions are of the core itself, and of its table: nothing in them comes from outside. */
type Queue = {
  readonly table: string
  /** Of all that waits, due or not: an index begins with the lane, for these rows alone. */
  readonly isWaiting: SQL
  readonly dueAt: string
  /** What the index by time has in front of it, and is null for all that waits. */
  readonly dueAfter?: string
  readonly lane: readonly string[]
  /** What else is to be known of the chosen ones, by its name. */
  readonly columns?: Readonly<Record<string, SQL>>
}

type Choice = {
  readonly at: SQL
  readonly rows: number
  /** Of the lane `l`. */
  readonly hasCapacity: SQL
  /** How many of the lane `l` at most. Left out: an equal share. */
  readonly capacity?: SQL
}

/** Of each lane, however many of them there are. */
const SHARE_MIN = sql.raw('4')

/**
 * The parts of a `with recursive` whose last is `chosen`, with lane, id, time and columns: what is due, the oldest first,
 * as long as it fits; then perhaps of full lanes. Where there is more, as many of each lane that has capacity: from one
 * with something waiting to the next is one step in an index, so a hundred thousand rows of one are skipped as quickly as
 * one row.
 */
export function chooseDue(
  { table, isWaiting, dueAt, dueAfter, lane, columns = {} }: Queue,
  { at, rows, hasCapacity, capacity = sql`(select n from share)` }: Choice,
): SQL {
  const named = (names: readonly string[], of = '') => sql.raw(names.map((name) => of + name).join(', '))
  const [from, due, most] = [sql.raw(table), sql.raw(dueAt), sql`${String(rows)}::int`]
  const inIndex = dueAfter === undefined ? sql`` : sql` and ${sql.raw(dueAfter)} is null`
  const inOrder = dueAfter === undefined ? due : sql.raw(`${dueAfter}, ${dueAt}`)
  const [ofLane, ofThisLane] = [named(lane), named(lane, 'l.')]
  const known = named([...lane, 'id', dueAt, ...Object.keys(columns)])
  const looked = sql.join(
    [
      named([...lane, 'id', dueAt]),
      ...Object.entries(columns).map(([name, is]) => sql`${is} as ${sql.raw(name)}`),
    ],
    sql`, `,
  )
  return sql`
    oldest as materialized (
      select ${looked} from ${from} where ${isWaiting} and ${due} <= ${at}${inIndex}
      order by ${inOrder} limit ${most} + 1
    ), lane(${ofLane}) as (
      (select ${ofLane} from ${from} where ${isWaiting} and (select count(*) from oldest) > ${most}
        order by ${ofLane} limit 1)
      union all
      select next.* from lane l cross join lateral (
        select ${ofLane} from ${from} where ${isWaiting} and (${ofLane}) > (${ofThisLane})
        order by ${ofLane} limit 1
      ) next
    ), open_lane as materialized (
      select * from lane l where ${hasCapacity}
    ), share as (
      select greatest(${SHARE_MIN}, ${most} / greatest(count(*), 1)) as n from open_lane
    ), fair as (
      select due.* from open_lane l cross join lateral (
        select *, row_number() over () as place from (
          select ${looked} from ${from} where ${isWaiting} and (${ofLane}) = (${ofThisLane}) and ${due} <= ${at}
          order by ${ofLane}, ${due} limit ${capacity}
        ) first
      ) due
      order by place, ${due} limit ${most}
    ), chosen as (
      select ${known} from fair
      union all
      select ${known} from oldest where (select count(*) from oldest) <= ${most}
    )`
}
