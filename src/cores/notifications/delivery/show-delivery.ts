import type { Handle } from '../../../../db/connect.ts'
import { and, asc, eq, sql } from '../../../../db/drizzle.ts'
import { attempts, deliveries, subscriptions, type messages } from '../../../../db/schema.ts'
import { notFound } from '../../../contracts/errors.ts'
import { TEST_EVENT } from '../../../contracts/events.ts'
import { FAIR_QUEUES } from '../../../contracts/fair-queues.ts'
import { RESPONSE_EXCERPT } from '../../../contracts/limits.ts'
import type { DataKeys } from '../../../trust/data-key.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { receivedId } from '../channels/received-id.ts'
import { thinNotification } from '../channels/render.ts'
import { createWaits } from '../../work/index.ts'
import { read, type Verb } from '../../verb.ts'
import { isOpen, presentDeliveries, selectDeliveries, type DeliveryRow } from './delivery-rows.ts'

/** What is kept of answers is for admins in the console and the API: the operation has no scope, so no agent can call it. */
export const showDelivery: Verb<'showDelivery', WithDirectory & { readonly dataKeys: DataKeys }> = read(
  async (context, { delivery_id, wait, attempts: known }) => {
    const { db, clock, dataKeys, orgId, principal } = context
    const isOver = () => hasNewAttempt(db, { orgId, id: delivery_id }, known)
    if (wait > 0 && !(await isOver()))
      await waitForAttempt(db, { orgId, key: orgId }, { seconds: wait, signal: principal.signal }, isOver)
    const [row] = await selectDeliveries(db).where(
      and(eq(deliveries.orgId, orgId), eq(deliveries.id, delivery_id)),
    )
    if (!row?.event) throw notFound()
    const { delivery, event, message, alias } = row
    const [presented] = await presentDeliveries(context, [row])
    return {
      ...presented!,
      integration_id: delivery.integrationId,
      timing: isAtOnce(row) ? null : await timingOf(db, delivery),
      notification: thinNotification({
        ...event,
        id: receivedId(dataKeys, { ...delivery, target: message?.target ?? '' }),
        eventId: event.id,
        app: alias,
      }),
      attempts_made: message ? await attemptsOf(db, message, clock()) : [],
      digest_of: message ? await db.$count(deliveries, carriedBy(message)) : 0,
    }
  },
)

const waitForAttempt = createWaits(FAIR_QUEUES.deliveryWaits, 'attempts')

/** Or none will come: it is settled, or not there. */
async function hasNewAttempt(
  db: Handle,
  { orgId, id }: { orgId: string; id: string },
  known: number,
): Promise<boolean> {
  const [row] = await db
    .select({ state: deliveries.state, ended: sql<number>`count(${attempts.endedAt})::int` })
    .from(deliveries)
    .leftJoin(
      attempts,
      and(eq(attempts.orgId, deliveries.orgId), eq(attempts.messageId, deliveries.messageId)),
    )
    .where(and(eq(deliveries.orgId, orgId), eq(deliveries.id, id)))
    .groupBy(deliveries.state)
  return !row || !isOpen(row.state) || row.ended > known
}

/** A test of an integration goes at once, whatever subscription its unsubscribe link is of. */
const isAtOnce = ({ delivery, message }: DeliveryRow): boolean =>
  delivery.type === TEST_EVENT && message?.digestKey === null

async function timingOf(db: Handle, { orgId, subscriptionId }: typeof deliveries.$inferSelect) {
  if (subscriptionId === null) return null
  const [found] = await db
    .select({ timing: subscriptions.timing })
    .from(subscriptions)
    .where(and(eq(subscriptions.orgId, orgId), eq(subscriptions.id, subscriptionId)))
  return found?.timing ?? null
}

type Message = typeof messages.$inferSelect

const DAY_MS = 24 * 60 * 60 * 1000

async function attemptsOf(db: Handle, { orgId, id }: Message, now: Date) {
  // Also what the daily sweep has not come to yet.
  const since = now.getTime() - RESPONSE_EXCERPT.days * DAY_MS
  const rows = await db
    .select()
    .from(attempts)
    .where(and(eq(attempts.orgId, orgId), eq(attempts.messageId, id)))
    .orderBy(asc(attempts.number))
  return rows.map((row) => ({
    number: row.number,
    started_at: row.startedAt.toISOString(),
    ended_at: row.endedAt?.toISOString() ?? null,
    outcome: row.outcome,
    reason: row.reason,
    http_status: row.httpStatus,
    duration_ms: row.durationMs,
    carried_by: row.carriedBy,
    response: row.startedAt.getTime() >= since ? row.response : null,
    response_withheld: row.responseWithheld === true,
    request_headers: row.startedAt.getTime() >= since ? row.requestHeaders : null,
  }))
}

const carriedBy = ({ orgId, id }: Message) => and(eq(deliveries.orgId, orgId), eq(deliveries.messageId, id))
