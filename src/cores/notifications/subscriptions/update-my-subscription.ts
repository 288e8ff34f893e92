import { and, eq } from '../../../../db/drizzle.ts'
import { subscriptions } from '../../../../db/schema.ts'
import { notFound } from '../../../contracts/errors.ts'
import { write, type Verb } from '../../verb.ts'
import { ownedBy, presentCommonFields, WITH_LAST_DELIVERY } from './subscription-rows.ts'

export const updateMySubscription: Verb<'updateMySubscription'> = write(
  { author: 'viewer', audit: 'subscription.changed' },
  async ({ tx, member, audit }, { subscription_id, enabled }) => {
    const own = and(ownedBy(member), eq(subscriptions.id, subscription_id))
    const [found] = await tx.select(WITH_LAST_DELIVERY).from(subscriptions).where(own).for('update')
    if (!found) throw notFound()
    if (found.row.enabled === enabled) return presentCommonFields(found.row, found.lastDeliveryAt)
    const next = { enabled, disabledReason: enabled ? null : ('paused' as const) }
    await tx.update(subscriptions).set(next).where(own)
    await audit('subscription.changed', found.row.pattern)
    return presentCommonFields({ ...found.row, ...next }, found.lastDeliveryAt)
  },
)
