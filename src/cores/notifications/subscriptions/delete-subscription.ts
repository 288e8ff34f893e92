import { subscriptions } from '../../../../db/schema.ts'
import { write, type Verb } from '../../verb.ts'
import { lockSubscription, subscriptionKey } from './subscription-rows.ts'

export const deleteSubscription: Verb<'deleteSubscription'> = write(
  { audit: 'subscription.deleted' },
  async ({ tx, orgId, audit }, { subscription_id }) => {
    const { subscription: row, integration } = await lockSubscription(tx, orgId, subscription_id)
    // The row of a default in `default_subscriptions` stays, so that it is not created again.
    await tx.delete(subscriptions).where(subscriptionKey(row))
    await audit('subscription.deleted', `${row.pattern} to ${integration.name}`)
    return {}
  },
)
