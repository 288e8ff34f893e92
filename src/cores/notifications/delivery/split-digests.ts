/**
 * A digest that holds more than one message carries becomes several, before its first attempt: each part is a message of
 * its own, sent after the one before it. Its window is closed, so nothing is added meanwhile.
 */
import { sql } from '../../../../db/drizzle.ts'
import { CHANNELS } from '../../../contracts/channels.ts'
import { makeId } from '../../../contracts/ids.ts'
import { NOTICES_MAX } from '../../../contracts/limits.ts'
import type { Storage } from '../../dependencies.ts'
import { NOTICES_DIGEST } from '../fan-out/default-subscriptions.ts'
import type { MessageKey } from './claim-messages.ts'

/** Notices to an admin are one message, which names each destination. */
const ITEMS_MAX = sql.raw(
  `case when m.digest_key like '${NOTICES_DIGEST}%' then ${NOTICES_MAX} else case m.channel ${Object.entries(
    CHANNELS,
  )
    .map(([channel, { itemsMax }]) => `when '${channel}' then ${itemsMax}`)
    .join(' ')} end end`,
)

/** Only what this worker holds: parts are made once, in one statement with moving the deliveries into them. */
export async function splitDigests(
  { db, clock }: Storage,
  worker: string,
  digests: readonly MessageKey[],
): Promise<void> {
  if (digests.length === 0) return
  const now = clock()
  const at = sql`${now.toISOString()}::timestamptz`
  const keys = digests.map(({ orgId, id }) => ({ orgId, id }))
  await db.execute(sql`
    with held as materialized (
      select m.*, ${ITEMS_MAX} as items_max
      from json_to_recordset(${JSON.stringify(keys)}::text::json) as k("orgId" text, id text)
      join messages m on m.org_id = k."orgId" and m.id = k.id
      where m.state = 'claimed' and m.worker = ${worker} and m.attempts = 0
      for update of m
    ), placed as materialized (
      select h.org_id, h.id, d.id as delivery_id,
        (row_number() over (partition by h.org_id, h.id order by e.seq, d.id) - 1) / h.items_max as part
      from held h
      join deliveries d on d.org_id = h.org_id and d.message_id = h.id and d.state in ('waiting', 'retrying')
      join events e on e.org_id = d.org_id and e.id = d.event_id
    ), parts as materialized (
      select org_id, id, part,
        ${makeId('msg', now.getTime()).slice(0, -16)}::text || right(replace(gen_random_uuid()::text, '-', ''), 16) as part_id
      from (select distinct org_id, id, part from placed where part > 0) p
    ), inserted as (
      insert into messages (org_id, id, channel, subscription_id, integration_id, user_id, target, ordering_key, seq,
        digest_key, window_end, state, next_at, created_at)
      select h.org_id, p.part_id, h.channel, h.subscription_id, h.integration_id, h.user_id, h.target, 'digest:' || h.id,
        p.part, h.digest_key || '#' || p.part, h.window_end, 'pending', ${at}, h.created_at
      from parts p join held h on h.org_id = p.org_id and h.id = p.id
    ), moved as (
      update deliveries d set message_id = p.part_id
      from placed i join parts p on p.org_id = i.org_id and p.id = i.id and p.part = i.part
      where d.org_id = i.org_id and d.id = i.delivery_id
    )
    -- The parts wait for it, in order.
    update messages m set ordering_key = 'digest:' || m.id
    from (select distinct org_id, id from parts) p where m.org_id = p.org_id and m.id = p.id`)
}
