/** The ledger as admins read it: what became of every event, for whom, by which attempts. Addresses are nowhere in it. */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../db/connect.ts'
import { and, asc, count, desc, eq, gte, like, lt, sql } from '../../../db/drizzle.ts'
import {
  apps,
  attempts,
  deliveries,
  events,
  integrations,
  sends,
  subscriptions,
  users,
} from '../../../db/schema.ts'
import type { listDeliveries, showDelivery, summarizeDeliveries } from '../../contracts/deliveries.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { asMember } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { containing } from '../search-text.ts'
import { thinOf } from './render.ts'

export const readLedger =
  ({ db }: Storage): Handler<typeof listDeliveries> =>
  async (who, { limit, cursor, type, state, reason, channel, integration_id, app, event_id, from, to }) => {
    const { orgId } = asMember(who)
    const before = readCursor(cursor, 1)?.[0]
    const rows = await rowsOf(db)
      .where(
        and(
          eq(deliveries.orgId, orgId),
          before === undefined ? undefined : lt(deliveries.id, before),
          type === undefined ? undefined : ofType(type),
          state && eq(deliveries.state, state),
          reason && eq(deliveries.reason, reason),
          channel && eq(deliveries.channel, channel),
          integration_id === undefined ? undefined : eq(deliveries.integrationId, integration_id),
          app === undefined ? undefined : eq(apps.alias, app),
          event_id === undefined ? undefined : eq(deliveries.eventId, event_id),
          from === undefined ? undefined : gte(deliveries.createdAt, new Date(from)),
          to === undefined ? undefined : lt(deliveries.createdAt, new Date(to)),
        ),
      )
      .orderBy(desc(deliveries.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, ({ delivery }) => [delivery.id])
    return { deliveries: page.rows.map(present), next_cursor: page.next_cursor }
  }

const ofType = (pattern: string) =>
  pattern.endsWith('.*')
    ? like(deliveries.type, containing(pattern.slice(0, -1)).slice(1))
    : eq(deliveries.type, pattern)

/** Everything a row tells; what a message, a connection or a person left behind may be gone by now. */
const rowsOf = (db: Handle) =>
  db
    .select({
      delivery: deliveries,
      event: events,
      send: sends,
      alias: apps.alias,
      connection: integrations.name,
      person: users.name,
      durationMs: attempts.durationMs,
    })
    .from(deliveries)
    .leftJoin(events, and(eq(events.orgId, deliveries.orgId), eq(events.id, deliveries.eventId)))
    .leftJoin(sends, and(eq(sends.orgId, deliveries.orgId), eq(sends.id, deliveries.sendId)))
    .leftJoin(apps, and(eq(apps.orgId, deliveries.orgId), eq(apps.id, deliveries.appId)))
    .leftJoin(
      integrations,
      and(eq(integrations.orgId, deliveries.orgId), eq(integrations.id, deliveries.integrationId)),
    )
    .leftJoin(users, eq(users.id, deliveries.userId))
    .leftJoin(
      attempts,
      and(
        eq(attempts.orgId, sends.orgId),
        eq(attempts.sendId, sends.id),
        eq(attempts.number, sends.attempts),
      ),
    )
    .$dynamic()

type LedgerRow = Awaited<ReturnType<typeof rowsOf>>[number]

const present = ({ delivery, event, send, alias, connection, person, durationMs }: LedgerRow) => ({
  id: delivery.id,
  event_id: delivery.eventId,
  type: delivery.type,
  subject: event?.subject ?? '',
  app: alias,
  channel: delivery.channel,
  destination: connection ?? person,
  state: delivery.state,
  reason: delivery.reason,
  unconfirmed: delivery.state === 'failed' && delivery.reason === 'outcome_unknown',
  attempts: send?.attempts ?? 0,
  duration_ms: durationMs,
  next_attempt_at: isOpen(delivery.state) ? (send?.nextAt.toISOString() ?? null) : null,
  replay_of: delivery.replayOf,
  created_at: delivery.createdAt.toISOString(),
  settled_at: delivery.settledAt?.toISOString() ?? null,
})

export const isOpen = (state: (typeof deliveries.$inferSelect)['state']): boolean =>
  state === 'waiting' || state === 'retrying'

export const oneDelivery =
  ({ db }: Storage): Handler<typeof showDelivery> =>
  async (who, { delivery_id }) => {
    const { orgId } = asMember(who)
    const [row] = await rowsOf(db).where(and(eq(deliveries.orgId, orgId), eq(deliveries.id, delivery_id)))
    if (!row?.event) throw notFound()
    const { delivery, event, send, alias } = row
    return {
      ...present(row),
      timing: await timingOf(db, delivery),
      notification: thinOf({ ...event, id: delivery.id, eventId: event.id, app: alias }),
      attempts_made: send ? await attemptsOf(db, send) : [],
      digest_of: send ? await carriedBy(db, send) : 0,
    }
  }

async function timingOf(db: Handle, { orgId, subscriptionId }: typeof deliveries.$inferSelect) {
  if (subscriptionId === null) return null
  const [found] = await db
    .select({ timing: subscriptions.timing })
    .from(subscriptions)
    .where(and(eq(subscriptions.orgId, orgId), eq(subscriptions.id, subscriptionId)))
  return found?.timing ?? null
}

type Send = typeof sends.$inferSelect

async function attemptsOf(db: Handle, { orgId, id }: Send) {
  const rows = await db
    .select()
    .from(attempts)
    .where(and(eq(attempts.orgId, orgId), eq(attempts.sendId, id)))
    .orderBy(asc(attempts.number))
  return rows.map((row) => ({
    number: row.number,
    started_at: row.startedAt.toISOString(),
    ended_at: row.endedAt?.toISOString() ?? null,
    outcome: row.outcome,
    reason: row.reason,
    http_status: row.httpStatus,
    duration_ms: row.durationMs,
  }))
}

async function carriedBy(db: Handle, { orgId, id }: Send): Promise<number> {
  const [found] = await db
    .select({ n: count() })
    .from(deliveries)
    .where(and(eq(deliveries.orgId, orgId), eq(deliveries.sendId, id)))
  return found!.n
}

const DAY_MS = 24 * 60 * 60 * 1000
const SHOWN_DAYS = 30

/** Of what was meant for somebody: an event that interested nobody says nothing about how delivery does. */
export const summarizeLedger =
  ({ db, clock }: Storage): Handler<typeof summarizeDeliveries> =>
  async (who) => {
    const { orgId } = asMember(who)
    const now = clock().getTime()
    const since = (ms: number) =>
      and(
        eq(deliveries.orgId, orgId),
        gte(deliveries.createdAt, new Date(ms)),
        sql`${deliveries.channel} is not null`,
      )
    const today = Math.floor(now / DAY_MS) * DAY_MS
    const days = await db
      .select({
        day: sql<string>`to_char(${deliveries.createdAt} at time zone 'UTC', 'YYYY-MM-DD')`,
        sent: counted(sql`${deliveries.state} = 'sent'`),
        failed: counted(sql`${deliveries.state} = 'failed'`),
        dropped: counted(sql`${deliveries.state} = 'dropped'`),
        open: counted(sql`${deliveries.state} in ('waiting', 'retrying')`),
      })
      .from(deliveries)
      .where(since(today - (SHOWN_DAYS - 1) * DAY_MS))
      .groupBy(sql`1`)
      .orderBy(asc(sql`1`))
    const unconfirmed = sql`${deliveries.reason} = 'outcome_unknown'`
    const [lately] = await db
      .select({
        sent: counted(sql`${deliveries.state} = 'sent'`),
        failed: counted(sql`${deliveries.state} = 'failed' and not ${unconfirmed}`),
        unconfirmed: counted(sql`${deliveries.state} = 'failed' and ${unconfirmed}`),
        // What waited for its digest waited on purpose.
        p95: sql<number | null>`percentile_cont(0.95) within group (
          order by extract(epoch from ${deliveries.settledAt} - ${deliveries.createdAt}) * 1000
        ) filter (where ${deliveries.state} = 'sent' and ${sends.digestKey} is null)`,
      })
      .from(deliveries)
      .leftJoin(sends, and(eq(sends.orgId, deliveries.orgId), eq(sends.id, deliveries.sendId)))
      .where(since(now - DAY_MS))
    const [waiting] = await db
      .select({ oldest: sql<string | null>`min(${sends.createdAt})` })
      .from(sends)
      .where(and(eq(sends.orgId, orgId), sql`${sends.state} in ('pending', 'claimed', 'sending')`))
    const { p95, ...counts } = lately!
    return {
      days,
      last_24_hours: { ...counts, p95_ms: p95 === null ? null : Math.round(p95) },
      oldest_waiting_at: waiting?.oldest ? new Date(waiting.oldest).toISOString() : null,
    }
  }

const counted = (which: SQL) => sql<number>`(count(*) filter (where ${which}))::int`
