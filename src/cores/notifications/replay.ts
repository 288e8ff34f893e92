/** Sends again what somebody wants sent again. It has an id of its own and names the first, because both may arrive. */
import type { Transaction } from '../../../db/connect.ts'
import { and, asc, eq, gte, inArray, lt, or, sql } from '../../../db/drizzle.ts'
import { deliveries, integrations, sends, subscriptions } from '../../../db/schema.ts'
import {
  REPLAYS_MAX,
  type replayDelivery,
  type replayFailed,
  type SendReason,
} from '../../contracts/deliveries.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operation.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import type { Clock, Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { isOpen } from './read-ledger.ts'

export const replayOne =
  ({ db, clock }: Storage): Handler<typeof replayDelivery> =>
  (who, { delivery_id }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = asMember(who)
      const [row] = await rowsToSend(tx).where(
        and(eq(deliveries.orgId, orgId), eq(deliveries.id, delivery_id)),
      )
      if (!row) throw notFound()
      const against = reasonAgainst(row)
      if (against !== undefined) throw new ServiceError('CONFLICT', against)
      const [id] = await sendAgain(tx, clock, [row])
      await recordAudit(tx, clock, who, { orgId, action: 'delivery.replayed', subject: delivery_id })
      return { id: id!, replay_of: delivery_id }
    })

/** Dropped because of the other side, which may work again by now; not because of what somebody chose. */
const DROPPED_BY_OTHERS: readonly SendReason[] = ['endpoint_gone', 'endpoint_dead', 'connection_lost']

export const replayMany =
  ({ db, clock }: Storage): Handler<typeof replayFailed> =>
  (who, { from, to, integration_id, include_unconfirmed }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = asMember(who)
      const found = await rowsToSend(tx)
        .where(
          and(
            eq(deliveries.orgId, orgId),
            gte(deliveries.createdAt, new Date(from)),
            to === undefined ? undefined : lt(deliveries.createdAt, new Date(to)),
            integration_id === undefined ? undefined : eq(deliveries.integrationId, integration_id),
            or(
              eq(deliveries.state, 'failed'),
              and(eq(deliveries.state, 'dropped'), inArray(deliveries.reason, [...DROPPED_BY_OTHERS])),
            ),
            include_unconfirmed ? undefined : sql`${deliveries.reason} is distinct from 'outcome_unknown'`,
            hasPlace,
            isNotReplayed,
          ),
        )
        .orderBy(asc(deliveries.id))
        .limit(REPLAYS_MAX + 1)
      const again = found.slice(0, REPLAYS_MAX)
      await sendAgain(tx, clock, again)
      if (again.length > 0) {
        const subject = `${again.length} since ${from}`
        await recordAudit(tx, clock, who, { orgId, action: 'delivery.replayed', subject })
      }
      return { replayed: again.length, more: found.length > REPLAYS_MAX }
    })

/** A message, and where it would go today. */
const rowsToSend = (tx: Transaction) =>
  tx
    .select({
      delivery: deliveries,
      send: sends,
      connection: integrations.state,
      isSubscribed: subscriptions.enabled,
    })
    .from(deliveries)
    .leftJoin(sends, and(eq(sends.orgId, deliveries.orgId), eq(sends.id, deliveries.sendId)))
    .leftJoin(
      integrations,
      and(eq(integrations.orgId, deliveries.orgId), eq(integrations.id, deliveries.integrationId)),
    )
    .leftJoin(
      subscriptions,
      and(eq(subscriptions.orgId, deliveries.orgId), eq(subscriptions.id, deliveries.subscriptionId)),
    )
    .$dynamic()

type Row = Awaited<ReturnType<typeof rowsToSend>>[number]

/** The same as `reasonAgainst`, for many at once. */
const hasPlace = sql`${sends.id} is not null
  and (${deliveries.integrationId} is null or ${integrations.state} = 'active')
  and (${deliveries.subscriptionId} is null or ${subscriptions.enabled})`

/** What was replayed already is that replay's story. */
const isNotReplayed = sql`not exists (select 1 from ${deliveries} again
  where again.org_id = ${deliveries.orgId} and again.replay_of = ${deliveries.id})`

function reasonAgainst({ delivery, send, connection, isSubscribed }: Row): string | undefined {
  if (delivery.channel === null) return 'Nobody was to get this one'
  if (isOpen(delivery.state)) return 'This one is still on its way'
  if (!send) return 'This one was never made into a message'
  if (delivery.integrationId !== null && connection === null) return 'The connection is gone'
  if (delivery.integrationId !== null && connection !== 'active') return 'The connection does not work'
  if (delivery.subscriptionId !== null && isSubscribed === null) return 'The subscription is gone'
  if (delivery.subscriptionId !== null && !isSubscribed) return 'The subscription is switched off'
  return undefined
}

/** Each as a message of its own, at once and in no order: newer ones about the same do not wait for an old one. */
async function sendAgain(tx: Transaction, clock: Clock, rows: readonly Row[]): Promise<string[]> {
  if (rows.length === 0) return []
  const now = clock()
  const again = rows.map(({ delivery, send }) => ({
    delivery: {
      ...delivery,
      id: makeId('ntf', now.getTime()),
      sendId: makeId('dlv', now.getTime()),
      state: 'waiting' as const,
      reason: null,
      replayOf: delivery.id,
      createdAt: now,
      settledAt: null,
    },
    send: send!,
  }))
  await tx.insert(deliveries).values(again.map(({ delivery }) => delivery))
  await tx.insert(sends).values(
    again.map(({ delivery, send }) => ({
      orgId: send.orgId,
      id: delivery.sendId,
      channel: send.channel,
      subscriptionId: send.subscriptionId,
      integrationId: send.integrationId,
      userId: send.userId,
      target: send.target,
      state: 'pending' as const,
      nextAt: now,
      createdAt: now,
    })),
  )
  return again.map(({ delivery }) => delivery.id)
}
