/** The mails a person gets from an organization: their own to switch off and on, and nobody else's. */
import { and, desc, eq, isNull, lt } from '../../../db/drizzle.ts'
import { subscriptions } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type { listMySubscriptions, switchMySubscription } from '../../contracts/subscriptions.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember, type MemberCaller } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { lastDelivery, presentSubscription } from './subscription-rows.ts'

const mine = ({ orgId, userId }: MemberCaller) =>
  and(eq(subscriptions.orgId, orgId), eq(subscriptions.userId, userId), isNull(subscriptions.integrationId))

const SHOWN = { row: subscriptions, lastDeliveryAt: lastDelivery() }

export const mySubscriptions =
  ({ db }: Storage): Handler<typeof listMySubscriptions> =>
  async (who, { limit, cursor }) => {
    const before = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select(SHOWN)
      .from(subscriptions)
      .where(and(mine(asMember(who)), before === undefined ? undefined : lt(subscriptions.id, before)))
      .orderBy(desc(subscriptions.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, ({ row }) => [row.id])
    return {
      subscriptions: page.rows.map(({ row, lastDeliveryAt }) => presentSubscription(row, lastDeliveryAt)),
      next_cursor: page.next_cursor,
    }
  }

export const switchMine =
  ({ db, clock }: Storage): Handler<typeof switchMySubscription> =>
  (who, { subscription_id, enabled }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const own = and(mine(caller), eq(subscriptions.id, subscription_id))
      const [found] = await tx.select(SHOWN).from(subscriptions).where(own).for('update')
      if (!found) throw notFound()
      if (found.row.enabled === enabled) return presentSubscription(found.row, found.lastDeliveryAt)
      const next = { enabled, disabledReason: enabled ? null : ('paused' as const) }
      await tx.update(subscriptions).set(next).where(own)
      const subject = found.row.pattern
      await recordAudit(tx, clock, who, { orgId: caller.orgId, action: 'subscription.changed', subject })
      return presentSubscription({ ...found.row, ...next }, found.lastDeliveryAt)
    })
