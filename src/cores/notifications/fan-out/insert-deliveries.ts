/** Whom events are for, and their deliveries with messages: one statement for a hundred events or ten thousand deliveries. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import type { events } from '../../../../db/schema.ts'
import { CHANNEL_NAMES, CHANNELS, TIMINGS, type Channel } from '../../../contracts/channels.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
import { EVENTS, patternsOf, TEST_EVENT, type EventType } from '../../../contracts/events.ts'
import { idPattern, makeId, type IdPrefix } from '../../../contracts/ids.ts'
import { FAN_OUT_PAGE } from '../../../contracts/limits.ts'
import type { Clock } from '../../dependencies.ts'
import { isForAdmins, isToldToActor } from '../people.ts'
import { NOTICES_DIGEST, TOGETHER } from './default-subscriptions.ts'
import type { DigestWindows } from './digest-windows.ts'

export type EventRow = Pick<
  typeof events.$inferSelect,
  'orgId' | 'id' | 'type' | 'subject' | 'actorId' | 'concernsId' | 'appId' | 'seq' | 'data' | 'text'
> & { readonly app: string | null }

/**
 * Who may know of the event without being an admin: any member, or whoever still has the membership that their role on
 * the app was given to.
 */
export type Recipient = {
  readonly orgId: string
  readonly eventId: string
  readonly userId: string
  readonly anyMember: boolean
  readonly appMembershipId: string | null
}

/** By organization: the window that is open, and the one after it. */
export type Windows = ReadonlyMap<string, readonly [DigestWindows, DigestWindows]>

type Inserted = { readonly isPageFull: boolean; readonly people: readonly Recipient[] }

/** A page of them. All organizations of the events that have digests must have windows. */
export async function insertDeliveries(
  tx: Transaction,
  clock: Clock,
  batch: readonly EventRow[],
  windows: Windows,
): Promise<Inserted> {
  const singles = await insertSingleDeliveries(tx, clock, batch)
  const withDigests = batch.filter(({ orgId }) => windows.has(orgId))
  if (withDigests.length === 0) return singles
  const digests = await insertDigestDeliveries(tx, clock, withDigests, windows)
  return {
    isPageFull: singles.isPageFull || digests.isPageFull,
    people: [...singles.people, ...digests.people],
  }
}

export async function organizationsWithDigests(
  tx: Transaction,
  batch: readonly EventRow[],
): Promise<readonly string[]> {
  const rows = await tx.execute<{ org_id: string }>(
    sql`select distinct org_id from (${matchRecipients(batch, 'digests')}) m`,
  )
  return rows.map(({ org_id }) => org_id)
}

const EMAIL = sql`${'email' satisfies Channel}::text`
const OWN_ACTION = sql`${'own_action' satisfies DeliveryReason}::text`
const DIRECT_MESSAGE = sql`${'direct_message' satisfies Channel}::text`
const SOONEST = sql.raw(`array_position('{${TIMINGS.join(',')}}'::text[], timing)`)
const NOTICES_KEY = sql.raw(`'${NOTICES_DIGEST}'`)
const TOGETHER_KEYS = sql`array[${sql.join(
  TOGETHER.map((key) => sql.raw(`'${key}:' || s.user_id`)),
  sql`, `,
)}]`
const SINGLE_CHANNELS = sql.raw(
  `'{${CHANNEL_NAMES.filter((name) => !CHANNELS[name].digest).join(',')}}'::text[]`,
)

/**
 * Whoever subscribes or follows, by event. Every pattern that matches an event is one string to look up. A test goes to the
 * one subscription it names. An integration gets an event once, by the subscription that is soonest and then narrowest;
 * one worker at a time has an organization, so no other delivers it by another one meanwhile. Whether a follower still may
 * is asked again when it is sent. `c.channel is not null` only guards a column that must be set: an integration is removed
 * in one transaction with its subscriptions, and adding a subscription locks its integration, so none is left without.
 * What somebody did themselves (`is_own`) is written down at once, and never waits in a digest.
 */
function matchRecipients(
  batch: readonly EventRow[],
  which: 'singles' | 'digests',
  round = 0,
  windows?: Windows,
): SQL {
  const given = batch.map(({ orgId, id, type, subject, appId, seq, actorId, concernsId, data }) => {
    const isTest = type === TEST_EVENT
    const window = windows?.get(orgId)?.[round]
    return {
      org_id: orgId,
      event_id: id,
      type,
      subject,
      app_id: appId,
      seq,
      concerns_id: concernsId,
      patterns: isTest ? [] : patternsOf(type),
      test_of: isTest ? (data['subscription_id'] ?? null) : null,
      category: type in EVENTS ? EVENTS[type as EventType].category : null,
      for_admins: isForAdmins(type),
      skipped_id: isToldToActor(type) ? null : actorId,
      hourly: window?.hourly.toISOString() ?? null,
      daily: window?.daily.toISOString() ?? null,
    }
  })
  const isNew = (recipient: SQL) => sql`not exists (
    select from delivery_keys k
    where k.org_id = e.org_id and k.event_id = e.event_id and k.recipient = ${recipient}
      and ${isOfBatch(sql`k.event_id`, batch)})`
  const isOwn = (userId: SQL) => sql`coalesce(${userId} = e.skipped_id, false)`
  const isSingle = sql`(s.timing = 'immediately' or c.channel = any(${SINGLE_CHANNELS}) or e.test_of is not null
    or ${isOwn(sql`s.user_id`)})`
  const isSingleFollow = sql`(f.frequency = 'immediately' or ${isOwn(sql`f.user_id`)})`
  return sql`
    select e.org_id, e.event_id, e.type, e.subject, e.app_id, e.seq, r.*,
      case r.timing when 'hourly' then e.hourly else e.daily end as window_end
    from json_to_recordset(${JSON.stringify(given)}::text::json) as e(
      org_id text, event_id text, type text, subject text, app_id text, seq bigint, concerns_id text, patterns text[],
      test_of text, category text, for_admins boolean, skipped_id text, hourly timestamptz, daily timestamptz)
    cross join lateral (
      select s.id as subscription_id, s.integration_id, s.user_id, s.timing,
        case when s.default_key = any(${TOGETHER_KEYS}) then ${NOTICES_KEY} || s.user_id else 'sub:' || s.id end as digest_key,
        c.channel, coalesce(s.integration_id, 'email:' || s.user_id) as target, not e.for_admins as any_member,
        null::text as app_membership_id, ${isOwn(sql`s.user_id`)} as is_own, coalesce(s.integration_id, s.id) as recipient
      from (
        select distinct on (coalesce(integration_id, id)) * from (
          select * from subscriptions where org_id = e.org_id and enabled and pattern = any(e.patterns)
          union all
          select * from subscriptions where org_id = e.org_id and enabled and id = e.test_of
        ) matching
        order by coalesce(integration_id, id), ${SOONEST}, length(pattern) desc, id
      ) s
      left join integrations i on i.org_id = s.org_id and i.id = s.integration_id
      cross join lateral (
        select case when s.integration_id is null then ${EMAIL} else i.kind end as channel
      ) c
      where c.channel is not null and ${which === 'singles' ? isSingle : sql`not ${isSingle}`}
        and (not s.own_only or s.user_id = e.concerns_id)
        and ${isNew(sql`coalesce(s.integration_id, s.id)`)}
      union all
      select null, null, f.user_id, f.frequency, 'follow:' || f.user_id, ${DIRECT_MESSAGE}, 'dm:' || f.user_id, false,
        (select a.membership_id from app_members a
          where a.org_id = f.org_id and a.app_id = f.app_id and a.user_id = f.user_id), ${isOwn(sql`f.user_id`)}, f.user_id
      from follows f
      where f.org_id = e.org_id and f.app_id = e.app_id and e.category = any(f.categories)
        and ${which === 'singles' ? isSingleFollow : sql`not ${isSingleFollow}`}
        and ${isNew(sql`f.user_id`)}
    ) r
    order by e.seq, r.subscription_id, r.user_id
    limit ${sql.raw(String(FAN_OUT_PAGE))}`
}

const PEOPLE = sql.raw(
  `json_agg(json_build_object('orgId', org_id, 'eventId', event_id, 'userId', user_id, 'anyMember', any_member,
      'appMembershipId', app_membership_id))
    filter (where user_id is not null and not is_own)`,
)

type Row = { readonly wanted: number; readonly n: number; readonly people: Recipient[] | null }

/** A delivery and its message each; where the delivery is there already, neither. */
async function insertSingleDeliveries(
  tx: Transaction,
  clock: Clock,
  batch: readonly EventRow[],
): Promise<Inserted> {
  const now = timeOf(clock)
  const [row] = await tx.execute<Row>(sql`
    with matched as materialized (
      select m.*, ${newId('dlv', clock)} as id, ${newId('msg', clock)} as message_id
      from (${matchRecipients(batch, 'singles')}) m
    ), inserted as (
      ${insertKeys(sql`matched`)}
    ), delivered as (
      insert into deliveries (
        org_id, id, event_id, type, app_id, subscription_id, integration_id, user_id, channel, message_id, state, reason,
        created_at, settled_at
      )
      select org_id, id, event_id, type, app_id, subscription_id, integration_id, user_id, channel,
        case when not is_own then message_id end, case when is_own then 'dropped' else 'waiting' end,
        case when is_own then ${OWN_ACTION} end, ${now}, case when is_own then ${now} end
      from matched join inserted using (id)
    ), queued as (
      insert into messages (
        org_id, id, channel, subscription_id, integration_id, user_id, target, ordering_key, seq, state, next_at, created_at
      )
      select org_id, message_id, channel, subscription_id, integration_id, user_id, target, subject, seq, 'pending',
        ${now}, ${now}
      from matched join inserted using (id)
      where not is_own
    )
    select (select count(*) from matched)::int as wanted, count(*)::int as n, ${PEOPLE} as people
    from matched join inserted using (id)`)
  return { isPageFull: row!.wanted >= FAN_OUT_PAGE, people: row!.people ?? [] }
}

/**
 * Into the open window of each, whose message is locked, and a claim takes it only as a whole: either the item is in
 * before, or the window is closed and the item goes into the next one.
 */
async function insertDigestDeliveries(
  tx: Transaction,
  clock: Clock,
  batch: readonly EventRow[],
  windows: Windows,
): Promise<Inserted> {
  const now = timeOf(clock)
  const people: Recipient[] = []
  for (const round of [0, 1]) {
    const [row] = await tx.execute<Row>(sql`
      with matched as materialized (
        select m.*, ${newId('dlv', clock)} as id from (${matchRecipients(batch, 'digests', round, windows)}) m
      ), wanted as materialized (
        select distinct on (org_id, digest_key, window_end) *, ${newId('msg', clock)} as new_id
        from matched order by org_id, digest_key, window_end
      ), keyed as (
        insert into digest_keys (org_id, digest_key, window_end, message_id)
        select org_id, digest_key, window_end, new_id from wanted
        on conflict (org_id, digest_key, window_end) do update set message_id = digest_keys.message_id
        returning org_id, digest_key, window_end, message_id
      ), opened as (
        insert into messages (
          org_id, id, channel, subscription_id, integration_id, user_id, target, digest_key, window_end, state, next_at,
          created_at
        )
        select w.org_id, w.new_id, w.channel, w.subscription_id, w.integration_id, w.user_id, w.target, w.digest_key,
          w.window_end, 'open', w.window_end, ${now}
        from wanted w join keyed k on k.org_id = w.org_id and k.message_id = w.new_id
        returning org_id, id, digest_key, window_end
      ), filling as materialized (
        select k.org_id, k.message_id as id, k.digest_key, k.window_end from keyed k cross join lateral (
          select from messages m where m.org_id = k.org_id and m.id = k.message_id and m.state = 'open' for update
        ) m
      ), windows as (
        select * from opened union all select * from filling
      ), placed as materialized (
        select m.*, w.id as message_id from matched m join windows w using (org_id, digest_key, window_end)
      ), inserted as (
        ${insertKeys(sql`placed`)}
      ), delivered as (
        insert into deliveries (
          org_id, id, event_id, type, app_id, subscription_id, integration_id, user_id, channel, message_id, state, created_at
        )
        select org_id, id, event_id, type, app_id, subscription_id, integration_id, user_id, channel, message_id, 'waiting',
          ${now}
        from placed join inserted using (id)
      )
      select (select count(*) from matched)::int as wanted, (select count(*) from inserted)::int as n,
        (select ${PEOPLE} from placed) as people`)
    people.push(...(row!.people ?? []))
    if (row!.n === row!.wanted) return { isPageFull: row!.wanted >= FAN_OUT_PAGE, people }
  }
  throw new Error('both windows of a digest are closed: the clocks of the workers differ by an hour')
}

type EventKey = Pick<EventRow, 'orgId' | 'id' | 'type' | 'appId'>

/** decisions, 11: "The ledger has a row for every event, also one that matched nobody." */
export async function insertUnmatched(
  tx: Transaction,
  clock: Clock,
  batch: readonly EventKey[],
  reason: DeliveryReason = 'matched_nobody',
): Promise<void> {
  const now = timeOf(clock)
  const given = batch.map(({ orgId, id, type, appId }) => ({ orgId, id, type, appId }))
  await tx.execute(sql`
    with unmatched as materialized (
      select e."orgId" as org_id, e.id as event_id, e.type, e."appId" as app_id, '' as recipient,
        ${newId('dlv', clock)} as id
      from json_to_recordset(${JSON.stringify(given)}::text::json) as e("orgId" text, id text, type text, "appId" text)
      where not exists (
        select from delivery_keys k
        where k.org_id = e."orgId" and k.event_id = e.id and ${isOfBatch(sql`k.event_id`, batch)})
    ), inserted as (
      ${insertKeys(sql`unmatched`)}
    )
    insert into deliveries (org_id, id, event_id, type, app_id, state, reason, created_at, settled_at)
    select org_id, id, event_id, type, app_id, 'dropped', ${reason}, ${now}, ${now}
    from unmatched join inserted using (id)`)
}

/**
 * True for all of a batch. By it the planner knows their months, and plans for no other one, which would take longer than
 * the work itself.
 */
export function isOfBatch(id: SQL, batch: readonly { readonly id: string }[]): SQL {
  const ids = batch.map((event) => event.id).toSorted()
  // Only of these is the order here that of the database.
  return ids.every((one) => EVENT_ID.test(one)) ? sql`${id} between ${ids[0]} and ${ids.at(-1)}` : sql`true`
}

const EVENT_ID = idPattern('evt')

/** Of those, what nobody has got yet: `id` is that of the delivery. */
const insertKeys = (of: SQL): SQL => sql`
  insert into delivery_keys (org_id, event_id, recipient, delivery_id)
  select org_id, event_id, recipient, id from ${of}
  on conflict do nothing
  returning delivery_id as id`

const timeOf = (clock: Clock): SQL => sql`${clock().toISOString()}::timestamptz`

/** As `makeId` makes them, by the database: 62 random bits behind the time. */
const newId = (prefix: IdPrefix, clock: Clock): SQL =>
  sql`${makeId(prefix, clock().getTime()).slice(0, -16)}::text || right(replace(gen_random_uuid()::text, '-', ''), 16)`
