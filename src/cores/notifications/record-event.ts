/** Writes down that something happened, in the transaction in which it happened; telling anybody comes afterwards. */
import { randomUUID } from 'node:crypto'
import { channel } from 'node:diagnostics_channel'
import * as z from 'zod'
import type { Transaction } from '../../../db/connect.ts'
import { outbox } from '../../../db/schema.ts'
import { EVENTS, TEST_EVENT, type EventType } from '../../contracts/events.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Clock } from '../needs.ts'

export type NewEvent = {
  readonly orgId: string
  readonly type: EventType
  /** What it is about, as kind and id: `tickets/tkt_…`. Events of one subject arrive in the order they happened. */
  readonly subject: string
  /** The same key from the same source is the same event, however often it is recorded. */
  readonly dedupKey: string
  readonly source: string
  readonly actorId: string | null
  readonly concernsId?: string | null
  readonly appId?: string | null
  readonly data: Record<string, string>
}

/** Heard by a worker in the same process, which then need not wait for its next look. Others find the row. */
const recorded = channel('svc.event-recorded')

const Subject = z.string().regex(/^[a-z-]{1,40}\/[A-Za-z0-9_.:-]{1,80}$/)

/** Refuses whatever is not an identifier or a code: nothing a person wrote can be in an event. */
export const recordEvent = (tx: Transaction, clock: Clock, event: NewEvent): Promise<string> =>
  write(tx, clock, { ...event, data: EVENTS[event.type].data.parse(event.data) as NewEvent['data'] })

type TestOf = { readonly orgId: string; readonly subscriptionId: string; readonly actorId: string | null }

/** It names the one subscription it is for and matches no pattern; each is an event of its own. */
export const recordTestEvent = (
  tx: Transaction,
  clock: Clock,
  { orgId, subscriptionId, actorId }: TestOf,
): Promise<string> =>
  write(tx, clock, {
    orgId,
    actorId,
    type: TEST_EVENT,
    subject: `subscriptions/${subscriptionId}`,
    source: 'subscriptions',
    dedupKey: `test:${randomUUID()}`,
    data: { subscription_id: subscriptionId },
  })

async function write(
  tx: Transaction,
  clock: Clock,
  event: Omit<NewEvent, 'type'> & { readonly type: string },
): Promise<string> {
  const at = clock()
  const id = makeId('evt', at.getTime())
  await tx.insert(outbox).values({
    id,
    orgId: event.orgId,
    source: event.source,
    dedupKey: event.dedupKey,
    type: event.type,
    subject: Subject.parse(event.subject),
    actorId: event.actorId,
    concernsId: event.concernsId ?? null,
    appId: event.appId ?? null,
    data: event.data,
    occurredAt: at,
  })
  recorded.publish(id)
  return id
}
