import type { Transaction } from '../../../../db/connect.ts'
import { and, asc, desc, eq } from '../../../../db/drizzle.ts'
import { notify } from '../../../../db/listen.ts'
import { deliveries, deliveryKeys, events, messages, subscriptions } from '../../../../db/schema.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { TEST_EVENT } from '../../../contracts/events.ts'
import { makeId } from '../../../contracts/ids.ts'
import { write, type Verb } from '../../verb.ts'
import { lockIntegration, requireActive, type IntegrationRow } from './integration-rows.ts'
import { throttleTests } from './throttle-tests.ts'

/**
 * One event with its one delivery, queued at once: nobody else is subscribed to it, so there is nothing to fan out. It has
 * no place among the events of a subject, and waits for none of them.
 */
export const testIntegration: Verb<'testIntegration'> = write(
  { audit: 'integration.tested' },
  async ({ tx, clock, orgId, userId, audit }, { integration_id }) => {
    const integration = await lockIntegration(tx, orgId, integration_id)
    requireActive(integration)
    const subscriptionId = await unsubscribeWith(tx, integration)
    await throttleTests(tx, clock, orgId)
    const now = clock()
    const id = (prefix: 'evt' | 'dlv' | 'msg') => makeId(prefix, now.getTime())
    const [eventId, deliveryId, messageId] = [id('evt'), id('dlv'), id('msg')]
    const common = { orgId, subscriptionId, integrationId: integration.id, channel: integration.kind }
    await tx.insert(events).values({
      orgId,
      id: eventId,
      seq: 0,
      source: 'integrations',
      dedupKey: `test:${eventId}`,
      type: TEST_EVENT,
      subject: `integrations/${integration.id}`,
      actorId: userId,
      data: { integration_id: integration.id },
      occurredAt: now,
      recordedAt: now,
      fannedOutAt: now,
    })
    const delivery = { ...common, id: deliveryId, eventId, messageId, type: TEST_EVENT }
    await tx.insert(deliveries).values({ ...delivery, state: 'waiting', createdAt: now })
    await tx.insert(deliveryKeys).values({ orgId, eventId, recipient: integration.id, deliveryId })
    const message = { ...common, id: messageId, target: integration.id }
    await tx.insert(messages).values({ ...message, state: 'pending', nextAt: now, createdAt: now })
    await notify(tx, 'messages')
    await audit('integration.tested', integration.name)
    return { event_id: eventId, delivery_id: deliveryId }
  },
)

/** Every mail has a link that ends the subscription it came by; other channels need none. */
async function unsubscribeWith(tx: Transaction, { orgId, id, kind }: IntegrationRow): Promise<string | null> {
  if (kind !== 'email') return null
  const [subscription] = await tx
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.orgId, orgId),
        eq(subscriptions.integrationId, id),
        eq(subscriptions.enabled, true),
      ),
    )
    // A digest is not what somebody tests, and a test must not end it.
    .orderBy(desc(eq(subscriptions.timing, 'immediately')), asc(subscriptions.id))
    .limit(1)
  if (subscription) return subscription.id
  throw new ServiceError('CONFLICT', 'This address has no subscription that is on', {
    hint: 'Add a subscription first: every email has a link that ends it.',
  })
}
