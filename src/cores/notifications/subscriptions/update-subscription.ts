import { subscriptions } from '../../../../db/schema.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { requireActive } from '../integrations/integration-rows.ts'
import { write, type Verb } from '../../verb.ts'
import {
  lastDelivery,
  lockSubscription,
  patternsOfIntegration,
  presentSubscription,
  requireNewPattern,
  requireTiming,
  subscriptionKey,
  type SubscriptionRow,
} from './subscription-rows.ts'

export const updateSubscription: Verb<'updateSubscription'> = write(
  { audit: 'subscription.changed' },
  async ({ tx, orgId, audit }, { subscription_id, ...asked }) => {
    const { subscription: row, integration } = await lockSubscription(tx, orgId, subscription_id)
    const next = changesTo(row, asked)
    if (Object.keys(next).length > 0) {
      if (next.enabled === true) {
        requireActive(integration)
        requireNotUnsubscribed(row)
      }
      if (next.timing !== undefined) requireTiming(integration, next.timing)
      if (next.pattern !== undefined) {
        requireNewPattern(await patternsOfIntegration(tx, integration, row.id), next.pattern)
      }
      await tx.update(subscriptions).set(next).where(subscriptionKey(row))
      await audit('subscription.changed', `${next.pattern ?? row.pattern} to ${integration.name}`)
    }
    const [found] = await tx.select({ last: lastDelivery() }).from(subscriptions).where(subscriptionKey(row))
    return presentSubscription({ subscription: { ...row, ...next }, integration }, found?.last ?? null)
  },
)

/** Whoever reads there has said no. An admin who subscribes the address anew says so openly. */
function requireNotUnsubscribed({ disabledReason }: SubscriptionRow): void {
  if (disabledReason !== 'unsubscribed') return
  throw new ServiceError('CONFLICT', 'The recipient unsubscribed', {
    hint: 'Delete this subscription. Create another one only if the recipient wants it.',
  })
}

type Change = {
  readonly pattern?: string | undefined
  readonly timing?: SubscriptionRow['timing'] | undefined
  readonly enabled?: boolean | undefined
}

/**
 * Paused by a person stays paused: connecting a lost integration again does not undo it. That the recipient unsubscribed is
 * said of it for good: paused on top of that, it could be resumed.
 */
const changesTo = (row: SubscriptionRow, { pattern, timing, enabled }: Change): Partial<SubscriptionRow> => ({
  ...(pattern !== undefined && pattern !== row.pattern && { pattern }),
  ...(timing !== undefined && timing !== row.timing && { timing }),
  ...(enabled === true && !row.enabled && { enabled: true, disabledReason: null }),
  ...(enabled === false &&
    row.disabledReason !== 'paused' &&
    row.disabledReason !== 'unsubscribed' && { enabled: false, disabledReason: 'paused' as const }),
})
