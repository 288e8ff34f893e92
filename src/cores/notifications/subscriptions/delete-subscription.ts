import { subscriptions } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { withTransaction } from '../../transaction.ts'
import { lockSubscription, subscriptionKey } from './subscription-rows.ts'

export const deleteSubscription =
  ({ db, clock }: Storage): Handler<'deleteSubscription'> =>
  (who, { subscription_id }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = requireMember(who)
      const { subscription: row, integration } = await lockSubscription(tx, orgId, subscription_id)
      // The row of a default in `default_subscriptions` stays, so that it is not created again.
      await tx.delete(subscriptions).where(subscriptionKey(row))
      const subject = `${row.pattern} to ${integration.name}`
      await recordAudit(tx, clock, who, { orgId, action: 'subscription.deleted', subject })
      return {}
    })
