/** Whom an event is for, and their deliveries with messages: one statement for ten thousand. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import type { events } from '../../../../db/schema.ts'
import { CHANNEL_NAMES, CHANNELS, type Channel } from '../../../contracts/channels.ts'
import { EVENTS, patternsOf, TEST_EVENT, type EventType } from '../../../contracts/events.ts'
import { makeId, type IdPrefix } from '../../../contracts/ids.ts'
import { FAN_OUT_PAGE } from '../../../contracts/limits.ts'
import type { Clock } from '../../dependencies.ts'
import { isForAdmins } from '../people.ts'
import type { DigestWindows } from './digest-windows.ts'

export type EventRow = Pick<
  typeof events.$inferSelect,
  'orgId' | 'id' | 'type' | 'subject' | 'actorId' | 'concernsId' | 'appId' | 'seq' | 'data'
> & { readonly app: string | null }

/**
 * Who may know of the event without being an admin: any member, or whoever still has the membership that their role on
 * the app was given to.
 */
export type Recipient = {
  readonly userId: string
  readonly anyMember: boolean
  readonly appMembershipId: string | null
}

type Inserted = { readonly count: number; readonly people: readonly Recipient[] }

/** A page of them. Without windows only those that get it at once. */
export async function insertDeliveries(
  tx: Transaction,
  clock: Clock,
  event: EventRow,
  windows: readonly DigestWindows[],
): Promise<Inserted> {
  const inserted: Inserted[] = []
  for (const { singles, digests } of matchRecipients(event)) {
    inserted.push(await insertSingleDeliveries(tx, clock, event, singles))
    if (digests && windows.length > 0) {
      inserted.push(await insertDigestDeliveries(tx, clock, event, digests, windows))
    }
  }
  return {
    count: inserted.reduce((sum, { count }) => sum + count, 0),
    people: inserted.flatMap(({ people }) => people),
  }
}

export async function hasDigests(tx: Transaction, event: EventRow): Promise<boolean> {
  const found = matchRecipients(event).flatMap(({ digests }) => (digests ? [sql`exists (${digests})`] : []))
  if (found.length === 0) return false
  const [row] = await tx.execute<{ yes: boolean }>(sql`select ${sql.join(found, sql` or `)} as yes`)
  return row!.yes
}

const matchRecipients = (event: EventRow): Match[] =>
  [matchSubscriptions(event), matchFollows(event)].filter((match) => match !== undefined)

/** Both select subscription_id, integration_id, user_id, timing, digest_key, channel, target, any_member, app_membership_id. */
type Match = { readonly singles: SQL; readonly digests: SQL | undefined }

const EMAIL = sql`${'email' satisfies Channel}::text`
const DIRECT_MESSAGE = sql`${'direct_message' satisfies Channel}::text`
const SINGLE_CHANNELS = sql.raw(
  `'{${CHANNEL_NAMES.filter((name) => !CHANNELS[name].digest).join(',')}}'::text[]`,
)

/**
 * Every pattern that matches the event is one string to look up. A test goes to the one subscription it names.
 * `c.channel is not null` only guards a column that must be set: an integration is removed in one transaction with its
 * subscriptions, and adding a subscription locks its integration, so none is left without.
 */
function matchSubscriptions(event: EventRow): Match {
  const isTest = event.type === TEST_EVENT
  const matched = isTest
    ? sql`s.id = ${event.data['subscription_id'] ?? ''}`
    : sql`s.pattern in (${sql.join(
        patternsOf(event.type).map((pattern) => sql`${pattern}`),
        sql`, `,
      )})`
  const rows = (which: SQL) => sql`
    select s.id as subscription_id, s.integration_id, s.user_id, s.timing, 'sub:' || s.id as digest_key,
      c.channel, coalesce(s.integration_id, 'email:' || s.user_id) as target, ${!isForAdmins(event.type)}::boolean as any_member,
      null::text as app_membership_id
    from subscriptions s
    left join integrations i on i.org_id = s.org_id and i.id = s.integration_id
    cross join lateral (
      select case when s.integration_id is null then ${EMAIL} else i.kind end as channel
    ) c
    where s.org_id = ${event.orgId} and s.enabled and ${matched} and c.channel is not null and ${which}
      and (not s.own_only or (
        s.user_id = ${event.concernsId}::text and s.user_id is distinct from ${event.actorId}::text))
      and not exists (
        select from deliveries d
        where d.org_id = s.org_id and d.event_id = ${event.id} and d.subscription_id = s.id
          and d.replay_of is null and d.subscription_id is not null
      )
    order by s.id
    limit ${sql.raw(String(FAN_OUT_PAGE))}`
  const isSingle = sql`(s.timing = 'immediately' or c.channel = any(${SINGLE_CHANNELS}))`
  return isTest
    ? { singles: rows(sql`true`), digests: undefined }
    : { singles: rows(isSingle), digests: rows(sql`not ${isSingle}`) }
}

/** People who follow the category of the app. Whether they still may is asked again when it is sent. */
function matchFollows(event: EventRow): Match | undefined {
  const category = event.type in EVENTS ? EVENTS[event.type as EventType].category : null
  if (category === null || event.appId === null) return undefined
  const rows = (which: SQL) => sql`
    select null::text as subscription_id, null::text as integration_id, f.user_id, f.frequency as timing,
      'follow:' || f.user_id as digest_key, ${DIRECT_MESSAGE} as channel, 'dm:' || f.user_id as target,
      false as any_member, (select a.membership_id from app_members a
        where a.org_id = f.org_id and a.app_id = f.app_id and a.user_id = f.user_id) as app_membership_id
    from follows f
    where f.org_id = ${event.orgId} and f.app_id = ${event.appId} and ${category} = any(f.categories)
      and f.frequency ${which} 'immediately'
      and not exists (
        select from deliveries d
        where d.org_id = f.org_id and d.event_id = ${event.id} and d.user_id = f.user_id
          and d.replay_of is null and d.subscription_id is null and d.user_id is not null
      )
    order by f.user_id
    limit ${sql.raw(String(FAN_OUT_PAGE))}`
  return { singles: rows(sql`=`), digests: rows(sql`<>`) }
}

const PEOPLE = sql.raw(
  `json_agg(json_build_object('userId', user_id, 'anyMember', any_member, 'appMembershipId', app_membership_id))
    filter (where user_id is not null)`,
)

/** A delivery and its message each; where the delivery is there already, neither. */
async function insertSingleDeliveries(
  tx: Transaction,
  clock: Clock,
  event: EventRow,
  matched: SQL,
): Promise<Inserted> {
  const now = timeOf(clock)
  const [row] = await tx.execute<{ n: number; people: Recipient[] | null }>(sql`
    with matched as materialized (
      select m.*, ${newId('dlv', clock)} as id, ${newId('msg', clock)} as message_id from (${matched}) m
    ), inserted as (
      insert into deliveries (
        org_id, id, event_id, type, app_id, subscription_id, integration_id, user_id, channel, message_id, state, created_at
      )
      select ${event.orgId}, id, ${event.id}, ${event.type}, ${event.appId}, subscription_id, integration_id, user_id,
        channel, message_id, 'waiting', ${now}
      from matched
      on conflict do nothing
      returning id
    ), queued as (
      insert into messages (
        org_id, id, channel, subscription_id, integration_id, user_id, target, ordering_key, seq, state, next_at, created_at
      )
      select ${event.orgId}, message_id, channel, subscription_id, integration_id, user_id, target, ${event.subject},
        ${event.seq}::bigint, 'pending', ${now}, ${now}
      from matched join inserted using (id)
    )
    select count(*)::int as n, ${PEOPLE} as people from matched join inserted using (id)`)
  return { count: row!.n, people: row!.people ?? [] }
}

/**
 * Into the open window of each. Inserting locks the window's row, and a claim takes it only as a whole: either the item is
 * in before, or the window is closed and the item goes into the next one.
 */
async function insertDigestDeliveries(
  tx: Transaction,
  clock: Clock,
  event: EventRow,
  matched: SQL,
  windows: readonly DigestWindows[],
): Promise<Inserted> {
  const now = timeOf(clock)
  let count = 0
  const people: Recipient[] = []
  for (const { hourly, daily } of windows) {
    const [row] = await tx.execute<{ wanted: number; n: number; people: Recipient[] | null }>(sql`
      with matched as materialized (
        select m.*, case m.timing when 'hourly' then ${hourly.toISOString()}::timestamptz
          else ${daily.toISOString()}::timestamptz end as window_end
        from (${matched}) m
      ), windows as (
        insert into messages (
          org_id, id, channel, subscription_id, integration_id, user_id, target, digest_key, window_end, state, next_at,
          created_at
        )
        select ${event.orgId}, ${newId('msg', clock)}, channel, subscription_id, integration_id, user_id, target,
          digest_key, window_end, 'open', window_end, ${now}
        from matched
        order by digest_key
        on conflict (org_id, digest_key, window_end) where digest_key is not null
        do update set window_end = excluded.window_end where messages.state = 'open'
        returning id, digest_key
      ), inserted as (
        insert into deliveries (
          org_id, id, event_id, type, app_id, subscription_id, integration_id, user_id, channel, message_id, state, created_at
        )
        select ${event.orgId}, ${newId('dlv', clock)}, ${event.id}, ${event.type}, ${event.appId}, m.subscription_id,
          m.integration_id, m.user_id, m.channel, w.id, 'waiting', ${now}
        from matched m join windows w using (digest_key)
        on conflict do nothing
        returning id
      )
      select (select count(*) from matched)::int as wanted, (select count(*) from inserted)::int as n,
        (select ${PEOPLE} from matched join windows using (digest_key)) as people`)
    count += row!.n
    people.push(...(row!.people ?? []))
    if (row!.n === row!.wanted) return { count, people }
  }
  throw new Error('both windows of a digest are closed: the clocks of the workers differ by an hour')
}

/** decisions, 11: "The ledger has a row for every event, also one that matched nobody." */
export async function insertUnmatched(tx: Transaction, clock: Clock, event: EventRow): Promise<void> {
  const now = timeOf(clock)
  await tx.execute(sql`
    insert into deliveries (org_id, id, event_id, type, app_id, state, reason, created_at, settled_at)
    select ${event.orgId}, ${makeId('dlv', clock().getTime())}, ${event.id}, ${event.type}, ${event.appId}, 'dropped',
      'matched_nobody', ${now}, ${now}
    where not exists (
        select from deliveries
        where org_id = ${event.orgId} and event_id = ${event.id} and replay_of is null and subscription_id is not null)
      and not exists (
        select from deliveries
        where org_id = ${event.orgId} and event_id = ${event.id} and replay_of is null and subscription_id is null
          and user_id is not null)`)
}

const timeOf = (clock: Clock): SQL => sql`${clock().toISOString()}::timestamptz`

/** As `makeId` makes them, by the database: 62 random bits behind the time. */
const newId = (prefix: IdPrefix, clock: Clock): SQL =>
  sql`${makeId(prefix, clock().getTime()).slice(0, -16)}::text || right(replace(gen_random_uuid()::text, '-', ''), 16)`
