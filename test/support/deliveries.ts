/** Rows of the ledger as the engine leaves them behind. */
import { attempts, deliveries, deliveryKeys, events, messages } from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import type { Org } from './make.ts'
import type { TestSystem } from './system.ts'

export type DeliveryRow = Partial<typeof deliveries.$inferInsert>
type AttemptRow = Partial<typeof attempts.$inferInsert>

const MESSAGE_STATES = {
  waiting: 'pending',
  retrying: 'pending',
  sent: 'sent',
  failed: 'failed',
  dropped: 'dropped',
} as const

/** A delivery by webhook with its event, its message and the attempts at it, a second after the one before. */
export async function insertDelivery(
  { db, clock }: TestSystem,
  org: Org,
  row: DeliveryRow,
  tries: readonly AttemptRow[] = [{}],
): Promise<{ id: string; eventId: string; messageId: string }> {
  clock.advance(1)
  const [at, orgId] = [clock.now(), org.id]
  const [id, eventId, messageId] = [
    makeId('dlv', (row.createdAt ?? at).getTime()),
    makeId('evt', at.getTime()),
    makeId('msg', at.getTime()),
  ]
  const type = row.type ?? 'deploy.failed'
  await db.insert(events).values({
    orgId,
    id: eventId,
    seq: 1,
    source: 'test',
    dedupKey: eventId,
    type,
    subject: 'deployments/dep_1',
    data: { deployment_id: 'dep_1', code: 'BUILD_FAILED' },
    appId: row.appId ?? null,
    occurredAt: at,
    recordedAt: at,
    fannedOutAt: at,
  })
  await db.insert(deliveries).values({
    orgId,
    id,
    eventId,
    type,
    messageId,
    channel: 'webhook',
    state: 'sent',
    createdAt: at,
    settledAt: new Date(at.getTime() + 250),
    ...row,
  })
  await db.insert(deliveryKeys).values({ orgId, eventId, recipient: id, deliveryId: id })
  const { subscriptionId = null, integrationId = null } = row
  await db.insert(messages).values({
    orgId,
    id: messageId,
    channel: 'webhook',
    subscriptionId,
    integrationId,
    target: integrationId ?? 'nowhere',
    orderingKey: 'deployments/dep_1',
    state: MESSAGE_STATES[row.state ?? 'sent'],
    attempts: tries.length,
    nextAt: at,
    createdAt: at,
  })
  const made = tries.map((attempt, nth) => ({
    orgId,
    messageId,
    number: nth + 1,
    startedAt: at,
    endedAt: at,
    outcome: 'sent' as const,
    httpStatus: 200,
    durationMs: 40 + nth,
    ...attempt,
  }))
  if (made.length > 0) await db.insert(attempts).values(made)
  return { id, eventId, messageId }
}
