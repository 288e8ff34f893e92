import { subscriptions } from '../../../../db/schema.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { makeId } from '../../../contracts/ids.ts'
import { categoryOf, lockIntegration, type IntegrationRow } from '../integrations/integration-rows.ts'
import { write, type Verb } from '../../verb.ts'
import { isKnownPattern } from './known-event-types.ts'
import {
  patternsOfIntegration,
  presentSubscription,
  requireNewPattern,
  requireTiming,
} from './subscription-rows.ts'

export const createSubscription: Verb<'createSubscription'> = write(
  { audit: 'subscription.created' },
  async ({ tx, clock, orgId, userId, audit }, { pattern, integration_id, timing }) => {
    const integration = await lockIntegration(tx, orgId, integration_id)
    requireReady(integration)
    requireTiming(integration, timing)
    requireNewPattern(await patternsOfIntegration(tx, integration), pattern)
    const now = clock()
    const [subscription] = await tx
      .insert(subscriptions)
      .values({
        orgId,
        id: makeId('sub', now.getTime()),
        integrationId: integration.id,
        pattern,
        timing,
        enabled: true,
        createdAt: now,
        createdBy: userId,
      })
      .returning()
    await audit('subscription.created', `${pattern} to ${integration.name}`)
    return {
      ...presentSubscription({ subscription: subscription!, integration }, null),
      notes: (await isKnownPattern(tx, orgId, pattern)) ? [] : NOTES_ON_UNKNOWN,
    }
  },
)

/** decisions, 11: event types are free text, so a typo is possible, and so is a type that is defined later. */
const NOTES_ON_UNKNOWN = ['No event of this type is defined, so nothing will be delivered yet.']

/** Forum posts go into a category. */
function requireReady(integration: IntegrationRow): void {
  if (integration.kind !== 'forum' || categoryOf(integration) !== null) return
  throw new ServiceError('CONFLICT', 'No forum category is chosen', {
    hint: 'Choose the forum category first.',
  })
}
