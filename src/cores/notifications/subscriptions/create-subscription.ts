import { subscriptions } from '../../../../db/schema.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { EVENT_TYPES, matches } from '../../../contracts/events.ts'
import { makeId } from '../../../contracts/ids.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { withTransaction } from '../../transaction.ts'
import { categoryOf, lockIntegration, type IntegrationRow } from '../integrations/integration-rows.ts'
import {
  patternsOfIntegration,
  presentSubscription,
  requireNewPattern,
  requireTiming,
} from './subscription-rows.ts'

export const createSubscription =
  ({ db, clock }: Storage): Handler<'createSubscription'> =>
  (who, { pattern, integration_id, timing }) =>
    withTransaction(db, async (tx) => {
      const { orgId, userId } = requireMember(who)
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
      const subject = `${pattern} to ${integration.name}`
      await recordAudit(tx, clock, who, { orgId, action: 'subscription.created', subject })
      return {
        ...presentSubscription({ subscription: subscription!, integration }, null),
        notes: warningsAbout(pattern),
      }
    })

/** decisions, 11: event types are free text, so a typo is possible, and so is a type that is defined later. */
const warningsAbout = (pattern: string): string[] =>
  isKnown(pattern) ? [] : ['No event of this type is defined, so nothing will be delivered yet.']

const isKnown = (pattern: string): boolean => EVENT_TYPES.some((type) => matches(pattern, type))

/** Forum posts go into a category. */
function requireReady(integration: IntegrationRow): void {
  if (integration.kind !== 'forum' || categoryOf(integration) !== null) return
  throw new ServiceError('CONFLICT', 'No forum category is chosen', {
    hint: 'Choose the forum category first.',
  })
}
