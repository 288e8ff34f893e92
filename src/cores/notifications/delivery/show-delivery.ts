import type { Handle } from '../../../../db/connect.ts'
import type { SQL } from 'drizzle-orm'
import { and, eq, getTableColumns, sql } from '../../../../db/drizzle.ts'
import { attempts, deliveries, events, messages } from '../../../../db/schema.ts'
import type { Timing } from '../../../contracts/channels.ts'
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
import { isOpen, presentDeliveries, selectDeliveriesWith } from './delivery-rows.ts'

/** What is kept of answers is for admins in the console and the API: the operation has no scope, so no agent can call it. */
export const showDelivery: Verb<'showDelivery', WithDirectory & { readonly dataKeys: DataKeys }> = read(
  async (context, { delivery_id, wait, attempts: known }) => {
    const { db, clock, dataKeys, orgId, principal } = context
    const isOver = () => hasNewAttempt(db, { orgId, id: delivery_id }, known)
    if (wait > 0 && !(await isOver()))
      await waitForAttempt(db, { orgId, key: orgId }, { seconds: wait, signal: principal.signal }, isOver)
    const row = await readDelivery(db, orgId, delivery_id)
    if (!row) throw notFound()
    const { delivery, message, alias } = row
    // A replay is kept longer than what it is about.
    const event = row.event ?? { subject: '', data: {}, occurredAt: delivery.createdAt }
    const [presented] = await presentDeliveries(context, [row])
    return {
      ...presented!,
      integration_id: delivery.integrationId,
      timing: isAtOnce(row) ? null : row.timing,
      notification: thinNotification({
        ...delivery,
        ...event,
        id: receivedId(dataKeys, { ...delivery, target: message?.target ?? '' }),
        app: alias,
      }),
      attempts_made: presentAttempts(row.made, clock()),
      digest_of: row.carried,
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
const isAtOnce = ({ delivery, message }: Read): boolean =>
  delivery.type === TEST_EVENT && message?.digestKey === null

type Attempt = typeof attempts.$inferSelect
/** As JSON has them. */
type Made = Omit<Attempt, 'startedAt' | 'endedAt'> & {
  readonly startedAt: string
  readonly endedAt: string | null
}

/** With every attempt, what else its message carried, and when its subscription sends: in one statement. */
async function readDelivery(db: Handle, orgId: string, id: string) {
  const isOfMessage = (table: SQL) =>
    sql`${table}.org_id = ${deliveries.orgId} and ${table}.message_id = ${deliveries.messageId}`
  const rows = await selectDeliveriesWith(db, {
    event: events,
    message: messages,
    made: sql<Made[]>`coalesce((
      select json_agg(json_build_object(${ATTEMPT_FIELDS}) order by a.number)
      from attempts a where ${isOfMessage(sql`a`)}), '[]')`,
    carried: sql<number>`(select count(*)::int from deliveries c where ${isOfMessage(sql`c`)})`,
    timing: sql<Timing | null>`(
      select timing from subscriptions s where s.org_id = ${deliveries.orgId} and s.id = ${deliveries.subscriptionId})`,
  }).where(and(eq(deliveries.orgId, orgId), eq(deliveries.id, id)))
  return rows[0]
}

type Read = NonNullable<Awaited<ReturnType<typeof readDelivery>>>

const ATTEMPT_FIELDS = sql.raw(
  Object.entries(getTableColumns(attempts))
    .map(([name, column]) => `'${name}', a.${column.name}`)
    .join(', '),
)

const DAY_MS = 24 * 60 * 60 * 1000

function presentAttempts(made: readonly Made[], now: Date) {
  // Also what the daily sweep has not come to yet.
  const since = now.getTime() - RESPONSE_EXCERPT.days * DAY_MS
  return made.map((row) => {
    const startedAt = new Date(row.startedAt)
    const isKept = startedAt.getTime() >= since
    return {
      number: row.number,
      started_at: startedAt.toISOString(),
      ended_at: row.endedAt === null ? null : new Date(row.endedAt).toISOString(),
      outcome: row.outcome,
      reason: row.reason,
      http_status: row.httpStatus,
      duration_ms: row.durationMs,
      carried_by: row.carriedBy,
      response: isKept ? row.response : null,
      response_withheld: row.responseWithheld === true,
      request_headers: isKept ? row.requestHeaders : null,
    }
  })
}
