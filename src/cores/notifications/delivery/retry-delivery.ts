import type { Transaction } from '../../../../db/connect.ts'
import { and, eq, sql } from '../../../../db/drizzle.ts'
import { notify } from '../../../../db/listen.ts'
import { deliveries, messages, messageTargets } from '../../../../db/schema.ts'
import { notFound, ServiceError } from '../../../contracts/errors.ts'
import { write, type Verb } from '../../verb.ts'
import { isOpen } from './delivery-rows.ts'
import { isHeld } from './hold-target.ts'

/**
 * The attempt that is planned is made now, under the same id: nothing is sent that would not have been. What is settled, or
 * may have arrived, is never taken up again here; somebody replays it.
 */
export const retryDelivery: Verb<'retryDelivery'> = write(
  { audit: 'delivery.retried' },
  async ({ tx, clock, orgId, audit }, { delivery_id }) => {
    const [row] = await tx
      .select({ delivery: deliveries, message: messages })
      .from(deliveries)
      .leftJoin(messages, and(eq(messages.orgId, deliveries.orgId), eq(messages.id, deliveries.messageId)))
      .where(and(eq(deliveries.orgId, orgId), eq(deliveries.id, delivery_id)))
    if (!row) throw notFound()
    const { delivery, message } = row
    if (!isOpen(delivery.state) || !message) {
      throw new ServiceError('CONFLICT', 'This delivery is not in progress', {
        hint: 'Replay it to send it again.',
      })
    }
    if (message.state === 'open') {
      throw new ServiceError('CONFLICT', 'This delivery waits for its digest', {
        hint: 'It is sent at the end of the hour or of the day.',
      })
    }
    const [target] = await tx
      .select({ heldUntil: messageTargets.heldUntil })
      .from(messageTargets)
      .where(and(eq(messageTargets.orgId, orgId), eq(messageTargets.target, message.target)))
    if (target && isHeld(target.heldUntil)) {
      throw new ServiceError('CONFLICT', 'The integration is paused', {
        hint: 'What waits is sent when it is resumed.',
      })
    }
    const now = clock()
    const due = await advance(tx, message, now)
    if (due === undefined) throw new ServiceError('CONFLICT', 'This delivery is being sent')
    const heldUntil = await probeNow(tx, message, now)
    await notify(tx, 'messages')
    await audit('delivery.retried', delivery_id)
    const next = new Date(Math.max(now.getTime(), due.getTime(), heldUntil?.getTime() ?? 0))
    return { id: delivery_id, next_attempt_at: next.toISOString() }
  },
)

type Message = typeof messages.$inferSelect

/**
 * With the older ones of its subject, which it waits for; and with the newer ones that have its time, because they wait for
 * it: never tried, or due when it is. What has a slot at its busy target keeps it. Returns when it is due; undefined: it is
 * on its way already.
 */
async function advance(
  tx: Transaction,
  { orgId, id, target, orderingKey, seq }: Message,
  now: Date,
): Promise<Date | undefined> {
  const at = sql`${now.toISOString()}::timestamptz`
  const advanced = await tx.execute<{ id: string; due: string }>(sql`
    update messages set next_at = case when slot_at > ${at} then next_at else least(next_at, ${at}) end
    where org_id = ${orgId} and target = ${target} and state = 'pending'
      and (id = ${id} or (ordering_key = ${orderingKey} and (seq < ${seq} or attempts = 0
        or next_at = (select next_at from messages where org_id = ${orgId} and id = ${id}))))
    returning id, next_at as due`)
  const own = advanced.find((one) => one.id === id)
  return own && new Date(own.due)
}

/**
 * Where the target does not answer, this is the probe that would have come later. What the receiver itself asked for
 * (Retry-After) stays. Returns until when.
 */
async function probeNow(tx: Transaction, { orgId, target }: Message, now: Date): Promise<Date | null> {
  const at = sql`${now.toISOString()}::timestamptz`
  const [row] = await tx.execute<{ held: string | null }>(sql`
    update message_targets set probe_at = least(probe_at, ${at})
    where org_id = ${orgId} and target = ${target}
    returning held_until as held`)
  return row?.held ? new Date(row.held) : null
}
