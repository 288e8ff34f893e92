/**
 * From one event to everybody who is to hear of it: deliveries with their messages or their place in a digest, rows in
 * the inboxes, and a line in the ledger also when nobody is. One event at a time per subject, in the order they happened.
 */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import type { events } from '../../../db/schema.ts'
import { EVENTS, patternsOf, TEST_EVENT, type EventType } from '../../contracts/events.ts'
import { makeId, type IdPrefix } from '../../contracts/ids.ts'
import { FAN_OUT_PAGE } from '../../contracts/limits.ts'
import type { Clock, Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { seedPipelines, seedSupportAccess, seedTicketReporter } from './default-subscriptions.ts'
import { windowsAfter, type DigestWindows } from './digest-windows.ts'
import { tellAll } from './inbox.ts'
import { linkOf, sentenceOf } from './render.ts'

export type FanOutNeeds = Storage & { readonly appUrl: URL }

type EventRow = Pick<
  typeof events.$inferSelect,
  'orgId' | 'id' | 'type' | 'subject' | 'actorId' | 'concernsId' | 'appId' | 'seq' | 'data'
> & { readonly app: string | null }

export type WaitingEvent = { readonly orgId: string; readonly id: string; readonly timezone: string }

/** How many are looked at in one go; workers that look at the same ones share them. */
const LOOK = 50

/** Those whose turn it is: no older one of the same subject still waits. */
export async function eventsToFanOut({ db }: Storage): Promise<WaitingEvent[]> {
  const rows = await db.execute<{ org_id: string; id: string; timezone: string | null }>(sql`
    select e.org_id, e.id, o.timezone
    from events e left join organizations o on o.id = e.org_id
    where e.fanned_out_at is null
      and not exists (
        select from events older
        where older.org_id = e.org_id and older.subject = e.subject and older.seq < e.seq
          and older.fanned_out_at is null
      )
    order by e.seq
    limit ${sql.raw(String(LOOK))}`)
  return rows.map((row) => ({ orgId: row.org_id, id: row.id, timezone: row.timezone ?? 'UTC' }))
}

/** False: somebody else has it. A page at a time, because the transaction of a page is a short one. */
export async function fanOut(needs: FanOutNeeds, waiting: WaitingEvent): Promise<boolean> {
  let windows: readonly DigestWindows[] = []
  for (;;) {
    const page = await withTransaction(needs.db, (tx) => fanOutPage(needs, tx, waiting, windows))
    if (page === 'done' || page === 'taken') return page === 'done'
    if (page === 'has digests') windows = await nextWindows(needs, waiting.timezone)
  }
}

/** If a window was closed a moment ago, its items belong into the one after it. */
async function nextWindows({ db, clock }: Storage, timezone: string): Promise<readonly DigestWindows[]> {
  const first = await windowsAfter(db, timezone, clock())
  const { hourly } = await windowsAfter(db, timezone, first.hourly)
  const { daily } = await windowsAfter(db, timezone, first.daily)
  return [first, { hourly, daily }]
}

async function fanOutPage(
  { clock, appUrl }: FanOutNeeds,
  tx: Transaction,
  { orgId, id }: WaitingEvent,
  windows: readonly DigestWindows[],
): Promise<'done' | 'more' | 'taken' | 'has digests'> {
  const event = await lockEvent(tx, orgId, id)
  if (!event) return 'taken'
  const plans = [subscribed(event), following(event)].filter((plan) => plan !== undefined)
  // Computed outside, and only for those who need them: a zone that is not known must not undo the whole.
  if (windows.length === 0 && (await hasDigests(tx, plans))) return 'has digests'
  await seedFor(tx, clock, event)
  const told: string[] = []
  let made = 0
  for (const { singles, digests } of plans) {
    for (const page of [
      await insertSingles(tx, clock, event, singles),
      ...(digests && windows.length > 0 ? [await insertDigests(tx, clock, event, digests, windows)] : []),
    ]) {
      told.push(...page.told)
      made += page.count
    }
  }
  await tellPeople(tx, clock, event, told, appUrl)
  if (made >= FAN_OUT_PAGE) return 'more'
  if (made === 0) await insertNobody(tx, clock, event)
  await tx.execute(sql`
    update events set fanned_out_at = ${timeOf(clock)} where org_id = ${orgId} and id = ${id}`)
  return 'done'
}

async function hasDigests(tx: Transaction, plans: readonly Plan[]): Promise<boolean> {
  const digests = plans.flatMap((plan) => (plan.digests ? [sql`exists (${plan.digests})`] : []))
  if (digests.length === 0) return false
  const [row] = await tx.execute<{ yes: boolean }>(sql`select ${sql.join(digests, sql` or `)} as yes`)
  return row!.yes
}

const timeOf = (clock: Clock): SQL => sql`${clock().toISOString()}::timestamptz`

async function lockEvent(tx: Transaction, orgId: string, id: string): Promise<EventRow | undefined> {
  const [row] = await tx.execute<{
    type: string
    subject: string
    actor_id: string | null
    concerns_id: string | null
    app_id: string | null
    seq: string
    data: Record<string, string>
    app: string | null
  }>(sql`
    select e.type, e.subject, e.actor_id, e.concerns_id, e.app_id, e.seq, e.data,
      (select alias from apps a where a.org_id = e.org_id and a.id = e.app_id) as app
    from events e
    where e.org_id = ${orgId} and e.id = ${id} and e.fanned_out_at is null
    for update of e skip locked`)
  if (!row) return undefined
  const { actor_id: actorId, concerns_id: concernsId, app_id: appId, seq, ...rest } = row
  return { orgId, id, actorId, concernsId, appId, seq: Number(seq), ...rest }
}

/** Defaults that come into being with the first event of their kind, and so are told of that one already. */
async function seedFor(tx: Transaction, clock: Clock, { orgId, type, concernsId, actorId }: EventRow) {
  if (type === 'support.ticket.replied' && concernsId !== null && concernsId !== actorId) {
    await seedTicketReporter(tx, clock, { orgId, userId: concernsId })
  }
  if (type.startsWith('pipeline.run.')) await seedPipelines(tx, clock, orgId)
  if (type.startsWith('org.support_access.')) await seedSupportAccess(tx, clock, orgId)
}

/** Whom it concerns: those who get it at once, and those who get it in a digest. */
type Plan = { readonly singles: SQL; readonly digests: SQL | undefined }

/**
 * Every pattern that matches the event is one string to look up. Posts in a forum are in somebody's name, and a digest
 * would have several: they go one by one. A test goes to the one subscription it names.
 */
function subscribed(event: EventRow): Plan {
  const isTest = event.type === TEST_EVENT
  const chosen = isTest
    ? sql`s.id = ${event.data['subscription_id'] ?? ''}`
    : sql`s.pattern in (${sql.join(
        patternsOf(event.type).map((pattern) => sql`${pattern}`),
        sql`, `,
      )})`
  const rows = (which: SQL) => sql`
    select s.id as subscription_id, s.integration_id, s.user_id, s.timing, 'sub:' || s.id as digest_key,
      case when s.integration_id is null then 'email' else coalesce(i.kind, 'webhook') end as channel,
      coalesce(s.integration_id, 'email:' || s.user_id) as target,
      s.user_id is not null and exists (
        select from memberships m
        where m.org_id = s.org_id and m.user_id = s.user_id
          and ${event.type.startsWith('org.') ? sql`m.role in ('owner', 'admin')` : sql`true`}
      ) as told
    from subscriptions s
    left join integrations i on i.org_id = s.org_id and i.id = s.integration_id
    where s.org_id = ${event.orgId} and s.enabled and ${chosen} and ${which}
      and (not s.own_only or (
        s.user_id = ${event.concernsId}::text and s.user_id is distinct from ${event.actorId}::text))
      and not exists (
        select from deliveries d
        where d.org_id = s.org_id and d.event_id = ${event.id} and d.subscription_id = s.id
          and d.replay_of is null and d.subscription_id is not null
      )
    order by s.id
    limit ${sql.raw(String(FAN_OUT_PAGE))}`
  const isSingle = sql`(s.timing = 'immediately' or i.kind = 'forum')`
  return isTest
    ? { singles: rows(sql`true`), digests: undefined }
    : { singles: rows(isSingle), digests: rows(sql`s.timing <> 'immediately' and not ${isSingle}`) }
}

/** People who follow the category of the app. Whether they still may is asked again when it is sent. */
function following(event: EventRow): Plan | undefined {
  const category = event.type in EVENTS ? EVENTS[event.type as EventType].category : null
  if (category === null || event.appId === null) return undefined
  const rows = (which: SQL) => sql`
    select null::text as subscription_id, null::text as integration_id, f.user_id, f.frequency as timing,
      'follow:' || f.user_id as digest_key, 'direct_message' as channel, 'dm:' || f.user_id as target,
      exists (
        select from memberships m
        left join app_members a on a.org_id = m.org_id and a.app_id = f.app_id and a.user_id = m.user_id
        where m.org_id = f.org_id and m.user_id = f.user_id
          and (m.role in ('owner', 'admin') or a.user_id is not null)
      ) as told
    from personal_follows f
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

type Made = { readonly count: number; readonly told: readonly string[] }

/** One statement for ten thousand: a delivery and its message each; whoever has the delivery already gets neither. */
async function insertSingles(tx: Transaction, clock: Clock, event: EventRow, matched: SQL): Promise<Made> {
  const now = timeOf(clock)
  const [row] = await tx.execute<{ n: number; told: string[] | null }>(sql`
    with matched as materialized (
      select m.*, ${freshId('ntf', clock)} as id, ${freshId('dlv', clock)} as send_id from (${matched}) m
    ), made as (
      insert into deliveries (
        org_id, id, event_id, type, app_id, subscription_id, integration_id, user_id, channel, send_id, state, created_at
      )
      select ${event.orgId}, id, ${event.id}, ${event.type}, ${event.appId}, subscription_id, integration_id, user_id,
        channel, send_id, 'waiting', ${now}
      from matched
      on conflict do nothing
      returning id
    ), queued as (
      insert into sends (
        org_id, id, channel, subscription_id, integration_id, user_id, target, ordering_key, seq, state, next_at, created_at
      )
      select ${event.orgId}, send_id, channel, subscription_id, integration_id, user_id, target, ${event.subject},
        ${event.seq}::bigint, 'pending', ${now}, ${now}
      from matched join made using (id)
    )
    select count(*)::int as n, json_agg(user_id) filter (where told) as told from matched join made using (id)`)
  return { count: row!.n, told: row!.told ?? [] }
}

/**
 * Into the open window of each. Its row is locked by the way in, and a claim takes it only as a whole: either the item is
 * in before, or the window is closed and the item goes into the next one.
 */
async function insertDigests(
  tx: Transaction,
  clock: Clock,
  event: EventRow,
  matched: SQL,
  windows: readonly DigestWindows[],
): Promise<Made> {
  const now = timeOf(clock)
  const made = { count: 0, told: [] as string[] }
  for (const { hourly, daily } of windows) {
    const [row] = await tx.execute<{ wanted: number; n: number; told: string[] | null }>(sql`
      with matched as materialized (
        select m.*, case m.timing when 'hourly' then ${hourly.toISOString()}::timestamptz
          else ${daily.toISOString()}::timestamptz end as window_end
        from (${matched}) m
      ), windows as (
        insert into sends (
          org_id, id, channel, subscription_id, integration_id, user_id, target, digest_key, window_end, state, next_at,
          created_at
        )
        select ${event.orgId}, ${freshId('dlv', clock)}, channel, subscription_id, integration_id, user_id, target,
          digest_key, window_end, 'open', window_end, ${now}
        from matched
        order by digest_key
        on conflict (org_id, digest_key, window_end) where digest_key is not null
        do update set window_end = excluded.window_end where sends.state = 'open'
        returning id, digest_key
      ), made as (
        insert into deliveries (
          org_id, id, event_id, type, app_id, subscription_id, integration_id, user_id, channel, send_id, state, created_at
        )
        select ${event.orgId}, ${freshId('ntf', clock)}, ${event.id}, ${event.type}, ${event.appId}, m.subscription_id,
          m.integration_id, m.user_id, m.channel, w.id, 'waiting', ${now}
        from matched m join windows w using (digest_key)
        on conflict do nothing
        returning user_id
      )
      select (select count(*) from matched)::int as wanted, (select count(*) from made)::int as n,
        (select json_agg(m.user_id) from matched m join windows w using (digest_key) where m.told) as told`)
    made.count += row!.n
    made.told.push(...(row!.told ?? []))
    if (row!.n === row!.wanted) return made
  }
  throw new Error('both windows of a digest are closed: the clocks of the workers differ by an hour')
}

/** As `makeId` makes them, by the database: 62 random bits behind the time. */
const freshId = (prefix: IdPrefix, clock: Clock): SQL =>
  sql`${makeId(prefix, clock().getTime()).slice(0, -16)}::text || right(replace(gen_random_uuid()::text, '-', ''), 16)`

const tellPeople = (
  tx: Transaction,
  clock: Clock,
  event: EventRow,
  userIds: readonly string[],
  appUrl: URL,
): Promise<void> =>
  tellAll(tx, clock, [...new Set(userIds)], {
    orgId: event.orgId,
    eventId: event.id,
    type: event.type,
    subject: event.subject,
    summary: sentenceOf(event),
    url: linkOf(event, appUrl),
  })

/** decisions, 11: "The ledger has a row for every event, also one that matched nobody." */
async function insertNobody(tx: Transaction, clock: Clock, event: EventRow): Promise<void> {
  const now = timeOf(clock)
  await tx.execute(sql`
    insert into deliveries (org_id, id, event_id, type, app_id, state, reason, created_at, settled_at)
    select ${event.orgId}, ${makeId('ntf', clock().getTime())}, ${event.id}, ${event.type}, ${event.appId}, 'dropped',
      'matched_nobody', ${now}, ${now}
    where not exists (
        select from deliveries
        where org_id = ${event.orgId} and event_id = ${event.id} and replay_of is null and subscription_id is not null)
      and not exists (
        select from deliveries
        where org_id = ${event.orgId} and event_id = ${event.id} and replay_of is null and subscription_id is null
          and user_id is not null)`)
}
