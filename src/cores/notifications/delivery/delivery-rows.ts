/** Rows of the delivery ledger as admins read them: what became of every event, by which attempts. No addresses. */
import type { SQL } from 'drizzle-orm'
import type { SelectedFields } from 'drizzle-orm/pg-core'
import type { Handle } from '../../../../db/connect.ts'
import { and, eq, gte, lt, sql } from '../../../../db/drizzle.ts'
import {
  apps,
  attempts,
  deliveries,
  events,
  integrations,
  messages,
  removedIntegrations,
} from '../../../../db/schema.ts'
import type { DeliveryState } from '../../../contracts/channels.ts'
import { makeId } from '../../../contracts/ids.ts'
import type { Storage } from '../../dependencies.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { isHeld } from './hold-target.ts'

/** Of an integration or a person: by an index that has both. */
export const isTo = (destination: string | SQL): SQL =>
  sql`coalesce(${deliveries.integrationId}, ${deliveries.userId}) = ${destination}`

/** Of its message. */
const IS_LAST_ATTEMPT = and(
  eq(attempts.orgId, messages.orgId),
  eq(attempts.messageId, messages.id),
  eq(attempts.number, messages.attempts),
)

const SHOWN = {
  delivery: deliveries,
  alias: apps.alias,
  integration: sql<string | null>`coalesce(${integrations.name}, ${removedIntegrations.name})`,
  durationMs: attempts.durationMs,
  httpStatus: attempts.httpStatus,
}

/** What a list shows of each: it reads many. */
export const selectDeliveries = (db: Handle) =>
  selectDeliveriesWith(db, {
    event: { subject: events.subject },
    message: { attempts: messages.attempts, nextAt: messages.nextAt },
  })

/** A message or an app may be gone by now; of an integration its name is left. */
export const selectDeliveriesWith = <More extends SelectedFields>(db: Handle, more: More) =>
  db
    .select({ ...more, ...SHOWN })
    .from(deliveries)
    .leftJoin(events, and(eq(events.orgId, deliveries.orgId), eq(events.id, deliveries.eventId)))
    .leftJoin(messages, and(eq(messages.orgId, deliveries.orgId), eq(messages.id, deliveries.messageId)))
    .leftJoin(apps, and(eq(apps.orgId, deliveries.orgId), eq(apps.id, deliveries.appId)))
    .leftJoin(
      integrations,
      and(eq(integrations.orgId, deliveries.orgId), eq(integrations.id, deliveries.integrationId)),
    )
    .leftJoin(
      removedIntegrations,
      and(
        eq(removedIntegrations.orgId, deliveries.orgId),
        eq(removedIntegrations.id, deliveries.integrationId),
      ),
    )
    .leftJoin(attempts, IS_LAST_ATTEMPT)
    .$dynamic()

type DeliveryRow = Awaited<ReturnType<typeof selectDeliveries>>[number]

export async function presentDeliveries(
  { db, directory }: Storage & WithDirectory,
  rows: readonly DeliveryRow[],
) {
  const people = await directory.readPeople(
    db,
    rows.flatMap(({ delivery: { orgId, userId } }) => (userId === null ? [] : [{ orgId, userId }])),
  )
  return rows.map(({ delivery, event, message, alias, integration, durationMs, httpStatus }) => ({
    id: delivery.id,
    event_id: delivery.eventId,
    type: delivery.type,
    subject: event?.subject ?? '',
    app: alias,
    channel: delivery.channel,
    destination: integration ?? people.get(delivery.userId ?? '')?.name ?? null,
    state: delivery.state,
    reason: delivery.reason,
    unconfirmed: delivery.state === 'failed' && delivery.reason === 'outcome_unknown',
    attempts: message?.attempts ?? 0,
    http_status: httpStatus,
    duration_ms: durationMs,
    next_attempt_at:
      message && isOpen(delivery.state) && !isHeld(message.nextAt) ? message.nextAt.toISOString() : null,
    replay_of: delivery.replayOf,
    created_at: delivery.createdAt.toISOString(),
    settled_at: delivery.settledAt?.toISOString() ?? null,
  }))
}

/** Ids begin with the time of the process that made them, whose clock may differ a little. */
const CLOCKS_DIFFER_MS = 60_000
const TIME_CHARACTERS = 'dlv_'.length + 9

/** Before those of all deliveries since then: they are found by the primary key. */
export const idBefore = (since: Date): string =>
  makeId('dlv', Math.max(0, since.getTime() - CLOCKS_DIFFER_MS)).slice(0, TIME_CHARACTERS)

/** Behind those of all deliveries before then. */
export const idAfter = (before: Date): string => idBefore(new Date(before.getTime() + 2 * CLOCKS_DIFFER_MS))

/**
 * By the id, which begins with the time: what is older or newer is not read. Only where the clocks may differ does the time
 * itself decide: asked of all, it would let the planner expect so few that it sorts a whole day for one page.
 */
export const isSince = (from: Date): SQL =>
  sql`(${deliveries.id} >= ${idBefore(from)} and (${deliveries.id} >= ${idAfter(from)} or ${gte(deliveries.createdAt, from)}))`
export const isBefore = (to: Date): SQL =>
  sql`(${deliveries.id} < ${idAfter(to)} and (${deliveries.id} < ${idBefore(to)} or ${lt(deliveries.createdAt, to)}))`

export const isOpen = (state: DeliveryState): boolean => state === 'waiting' || state === 'retrying'
