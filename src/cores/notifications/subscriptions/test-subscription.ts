import { ServiceError } from '../../../contracts/errors.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { withTransaction } from '../../transaction.ts'
import { recordTestEvent } from '../events/outbox.ts'
import { requireActive } from '../integrations/integration-rows.ts'
import { throttleTests } from '../integrations/throttle-tests.ts'
import { lockSubscription } from './subscription-rows.ts'

export const testSubscription =
  ({ db, clock }: Storage): Handler<'testSubscription'> =>
  (who, { subscription_id }) =>
    withTransaction(db, async (tx) => {
      const { orgId, userId } = requireMember(who)
      const { subscription: row, integration } = await lockSubscription(tx, orgId, subscription_id)
      requireActive(integration)
      if (!row.enabled) {
        throw new ServiceError('CONFLICT', 'This subscription is paused', { hint: 'Resume it first.' })
      }
      await throttleTests(tx, clock, orgId)
      const event_id = await recordTestEvent(tx, clock, { orgId, subscriptionId: row.id, actorId: userId })
      const subject = `${row.pattern} to ${integration.name}`
      await recordAudit(tx, clock, who, { orgId, action: 'subscription.tested', subject })
      return { event_id }
    })
