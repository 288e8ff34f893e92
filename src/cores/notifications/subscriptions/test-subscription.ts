import { ServiceError } from '../../../contracts/errors.ts'
import { TEST_EVENT } from '../../../contracts/events.ts'
import { recordTestEvent } from '../../outbox.ts'
import { requireActive } from '../integrations/integration-rows.ts'
import { throttleTests } from '../integrations/throttle-tests.ts'
import { write, type Verb } from '../../verb.ts'
import { lockSubscription } from './subscription-rows.ts'

export const testSubscription: Verb<'testSubscription'> = write(
  { audit: 'subscription.tested', events: TEST_EVENT },
  async ({ tx, clock, orgId, userId, audit }, { subscription_id }) => {
    const { subscription: row, integration } = await lockSubscription(tx, orgId, subscription_id)
    requireActive(integration)
    if (!row.enabled) {
      throw new ServiceError('CONFLICT', 'This subscription is paused', { hint: 'Resume it first.' })
    }
    await throttleTests(tx, clock, orgId)
    const event_id = await recordTestEvent(tx, clock, { orgId, subscriptionId: row.id, actorId: userId })
    await audit('subscription.tested', `${row.pattern} to ${integration.name}`)
    return { event_id }
  },
)
