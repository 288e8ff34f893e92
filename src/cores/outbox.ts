/** The outbox: an event is recorded in the transaction of the change it is about; delivery comes afterwards. */
import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import type { Transaction } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'
import { notify } from '../../db/listen.ts'
import { outbox } from '../../db/schema.ts'
import { APP_EVENTS, EVENTS, TEST_EVENT, type EventType } from '../contracts/events.ts'
import { makeId } from '../contracts/ids.ts'
import { requireDeclared } from './declared-rows.ts'
import type { Clock, Storage } from './dependencies.ts'
import { withTransaction } from './transaction.ts'
import { nextOrganizations } from './next-organizations.ts'

export type NewEvent = {
  readonly orgId: string
  readonly type: EventType
  /** What it is about, as kind and id: `tickets/tkt_…`. Events of one subject arrive in the order they happened. */
  readonly subject: string
  /** The same key from the same source is the same event, however often it is recorded. */
  readonly dedupKey: string
  readonly source: string
  readonly actorId: string | null
  readonly concernsId?: string | null
  readonly appId?: string | null
  readonly data: Record<string, string>
}

/** Of an event that an app sent, with its alias between. */
const Subject = z.string().regex(/^[a-z-]{1,40}\/(?:[a-z0-9-]{1,40}\/)?[A-Za-z0-9_.:-]{1,80}$/)

/** Rejects whatever is not an identifier or a code: nothing a person wrote can be in an event. */
export const recordEvent = (tx: Transaction, clock: Clock, event: NewEvent): Promise<string> =>
  insertEvent(tx, clock, { ...event, data: EVENTS[event.type].data.parse(event.data) as NewEvent['data'] })

type TestEvent = { readonly orgId: string; readonly subscriptionId: string; readonly actorId: string | null }

/** It names its subscription and matches no pattern; each is an event of its own. */
export const recordTestEvent = (
  tx: Transaction,
  clock: Clock,
  { orgId, subscriptionId, actorId }: TestEvent,
): Promise<string> =>
  insertEvent(tx, clock, {
    orgId,
    actorId,
    type: TEST_EVENT,
    subject: `subscriptions/${subscriptionId}`,
    source: 'subscriptions',
    dedupKey: `test:${randomUUID()}`,
    data: { subscription_id: subscriptionId },
  })

export type AppEvent = {
  readonly app: { readonly orgId: string; readonly id: string }
  readonly type: string
  readonly subject: string
  readonly dedupKey: string
  /** A page of ours. */
  readonly link: string
  /** What the app wrote: no part of the data, which are sent. */
  readonly text: string | null
}

/** What an app sends itself: nobody acted, so nobody is left out, and no forum post is in anybody's name. */
export const recordAppEvent = (
  tx: Transaction,
  clock: Clock,
  { app, link, ...event }: AppEvent,
): Promise<string> =>
  insertEvent(
    tx,
    clock,
    {
      ...event,
      orgId: app.orgId,
      appId: app.id,
      actorId: null,
      source: sourceOfApp(app.id),
      data: { link },
    },
    APP_EVENTS,
  )

/** Keys are those of one app: another one's are none of its. */
export const sourceOfApp = (appId: string): string => `apps/${appId}`

async function insertEvent(
  tx: Transaction,
  clock: Clock,
  event: Omit<NewEvent, 'type'> & { readonly type: string; readonly text?: string | null },
  declaredAs = event.type,
): Promise<string> {
  requireDeclared(tx, 'events', declaredAs)
  const at = clock()
  const id = makeId('evt', at.getTime())
  const subject = Subject.parse(event.subject)
  const row = { ...event, id, subject, occurredAt: at }
  // Together, so that it costs no round trip.
  await Promise.all([tx.insert(outbox).values(row), notify(tx, 'events')])
  return id
}

/** In one transaction; the next batch follows at once. */
const BATCH = 50
/** One worker ships those of an organization at a time, so that they arrive in their order. */
const WAITING = { table: 'outbox', isWaiting: sql`true`, lock: 7_382_001 } as const

/**
 * Moves what producers recorded to the events, as many of each organization, oldest first; one that was recorded twice
 * becomes one. Returns how many were moved.
 */
export async function shipOutbox({ db, clock }: Storage): Promise<number> {
  const [waiting] = await db.execute(sql`select 1 from outbox limit 1`)
  if (!waiting) return 0
  return withTransaction(db, async (tx) => {
    // One that was kept from when there was little reads all of it for each organization.
    await tx.execute(sql`set local plan_cache_mode = force_custom_plan`)
    const turn = await nextOrganizations({ db, tx, atMost: BATCH }, WAITING)
    if (turn.length === 0) return 0
    const share = Math.max(1, Math.floor(BATCH / turn.length))
    const at = sql`${clock().toISOString()}::timestamptz`
    const [moved] = await tx.execute<{ n: number }>(sql`
      with first as materialized (
        select f.org_id, f.id
        from json_to_recordset(${JSON.stringify(turn)}::text::json) as o(org_id text) cross join lateral (
          select org_id, id from outbox where org_id = o.org_id order by org_id, seq limit ${String(share)}::int
        ) f
      ), taken as (
        delete from outbox o using first where o.org_id = first.org_id and o.id = first.id
        returning o.*
      ), new as (
        insert into event_keys (org_id, source, dedup_key, event_id, recorded_at)
        select org_id, source, dedup_key, id, ${at} from taken order by seq
        on conflict do nothing
        returning org_id, event_id
      ), shipped as (
        insert into events (
          org_id, id, source, dedup_key, type, subject, actor_id, concerns_id, app_id, data, text, occurred_at, seq,
          recorded_at
        )
        select t.org_id, t.id, source, dedup_key, type, subject, actor_id, concerns_id, app_id, data, text, occurred_at, seq,
          ${at}
        from taken t join new on new.org_id = t.org_id and new.event_id = t.id
      )
      select count(*)::int as n from taken`)
    return moved!.n
  })
}
