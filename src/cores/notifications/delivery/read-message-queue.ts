/** How much waits and how long, over all organizations: for metrics and for the operator, never for a member. */
import { sql } from '../../../../db/drizzle.ts'
import { CIRCUIT } from '../../../contracts/limits.ts'
import type { Storage } from '../../dependencies.ts'
import { HELD } from './hold-target.ts'

type QueueSize = {
  readonly due: number
  readonly inFlight: number
  readonly eventsWaiting: number
  readonly circuitsOpen: number
  readonly waitingSince: Date | null
}

export type MessageQueue = QueueSize & {
  /** The longest waiting first, and so many of them. */
  readonly organizations: readonly (QueueSize & { readonly orgId: string })[]
}

/** Of organizations and of circuits: more than anybody reads, and no more series than metrics should have. */
export const QUEUE_ROWS_MAX = 100
const ROWS_MAX = sql.raw(String(QUEUE_ROWS_MAX))

/** Without those of integrations that were removed or stopped, which nothing is sent to. */
export const OPEN_CIRCUITS = sql`
  select org_id, target, unanswered, probe_at from message_targets t
  where unanswered >= ${sql.raw(String(CIRCUIT.unanswered))} and (
    left(target, 4) <> 'int_'
    or exists (select from integrations i where i.org_id = t.org_id and i.id = t.target and i.state = 'active'))`

/** What waits because somebody paused an integration is not late. */
const NOT_HELD = sql`next_at < ${HELD}`

const SINCE = sql.raw(`case when attempts = 0 then coalesce(window_end, created_at) else next_at end`)

type Row = {
  readonly org_id: string | null
  readonly due: number
  readonly in_flight: number
  readonly events_waiting: number
  readonly circuits_open: number
  readonly waiting_since: string | null
}

/**
 * A message that nobody tried yet is due from the moment it was made, or its digest closed, also while its target is busy
 * or does not answer: that is the wait a person feels. One that was tried waits for its next attempt on purpose.
 */
export async function readMessageQueue({ db, clock }: Storage): Promise<MessageQueue> {
  const at = sql`${clock().toISOString()}::timestamptz`
  const rows = await db.execute<Row>(sql`
    -- By state as the indexes have them: most messages are over, and are not read.
    with open as (
      select org_id, state, ${SINCE} as since from messages where state in ('open', 'pending') and ${NOT_HELD}
      union all
      select org_id, state, ${SINCE} from messages
      where state in ('claimed', 'sending') and lease_until is not null
    ), parts as (
      select org_id, count(*) filter (where state <> 'sending' and since <= ${at}) as due,
        count(*) filter (where state = 'sending') as in_flight, 0 as events_waiting, 0 as circuits_open,
        min(since) filter (where state <> 'sending' and since <= ${at}) as waiting_since
      from open group by org_id
      union all
      select org_id, 0, 0, count(*), 0, min(occurred_at) from (
        select org_id, occurred_at from outbox
        union all
        select org_id, occurred_at from events where fanned_out_at is null
      ) waiting group by org_id
      union all
      select org_id, 0, 0, 0, count(*), null from (${OPEN_CIRCUITS}) circuits group by org_id
    )
    select org_id, coalesce(sum(due), 0)::int as due, coalesce(sum(in_flight), 0)::int as in_flight,
      coalesce(sum(events_waiting), 0)::int as events_waiting, coalesce(sum(circuits_open), 0)::int as circuits_open,
      min(waiting_since) as waiting_since
    from parts group by grouping sets ((), (org_id))
    having org_id is null or sum(due) + sum(in_flight) + sum(events_waiting) + sum(circuits_open) > 0
    -- The sum of all has no organization, and is always there.
    order by org_id is null desc, min(waiting_since) nulls last, org_id
    limit ${ROWS_MAX} + 1`)
  const [all, ...organizations] = rows
  return {
    ...presentSize(all!),
    organizations: organizations.map((row) => ({ orgId: row.org_id!, ...presentSize(row) })),
  }
}

const presentSize = (row: Row): QueueSize => ({
  due: row.due,
  inFlight: row.in_flight,
  eventsWaiting: row.events_waiting,
  circuitsOpen: row.circuits_open,
  waitingSince: row.waiting_since === null ? null : new Date(row.waiting_since),
})
