import { and, eq } from '../../../../db/drizzle.ts'
import { subscriptions } from '../../../../db/schema.ts'
import { notFound } from '../../../contracts/errors.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import { lockAuthor } from '../../lock-author.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { withTransaction } from '../../transaction.ts'
import { ownedBy, presentCommonFields, WITH_LAST_DELIVERY } from './subscription-rows.ts'

export const updateMySubscription =
  ({ db, clock }: Storage): Handler<'updateMySubscription'> =>
  (who, { subscription_id, enabled }) =>
    withTransaction(db, async (tx) => {
      const principal = await lockAuthor(tx, clock, requireMember(who), 'viewer')
      const own = and(ownedBy(principal), eq(subscriptions.id, subscription_id))
      const [found] = await tx.select(WITH_LAST_DELIVERY).from(subscriptions).where(own).for('update')
      if (!found) throw notFound()
      if (found.row.enabled === enabled) return presentCommonFields(found.row, found.lastDeliveryAt)
      const next = { enabled, disabledReason: enabled ? null : ('paused' as const) }
      await tx.update(subscriptions).set(next).where(own)
      const subject = found.row.pattern
      await recordAudit(tx, clock, who, { orgId: principal.orgId, action: 'subscription.changed', subject })
      return presentCommonFields({ ...found.row, ...next }, found.lastDeliveryAt)
    })
