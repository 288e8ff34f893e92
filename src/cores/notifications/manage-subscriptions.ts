/** The organization's subscriptions: which events go to which connection, and when. */
import type { Transaction } from '../../../db/connect.ts'
import { and, desc, eq, ilike, isNull, lt, ne } from '../../../db/drizzle.ts'
import { integrations, subscriptions } from '../../../db/schema.ts'
import type { Channel } from '../../contracts/deliveries.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { EVENT_TYPES, matches, patternsOf } from '../../contracts/events.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type {
  createSubscription,
  deleteSubscription,
  listSubscriptions,
  testSubscription,
  updateSubscription,
} from '../../contracts/subscriptions.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { containing } from '../search-text.ts'
import { withTransaction } from '../transaction.ts'
import { categoryOf, lockConnection, type Connection } from './connections.ts'
import { recordTestEvent } from './record-event.ts'
import { lastDelivery, presentSubscription, type SubscriptionRow } from './subscription-rows.ts'

type Seen = { readonly subscription: SubscriptionRow; readonly integration: Connection }

const present = ({ subscription, integration }: Seen, lastDeliveryAt: string | null) => ({
  ...presentSubscription(subscription, lastDeliveryAt),
  channel: integration.kind satisfies Channel,
  integration: { id: integration.id, name: integration.name },
  created_by: subscription.createdBy,
})

const ofConnection = and(
  eq(integrations.orgId, subscriptions.orgId),
  eq(integrations.id, subscriptions.integrationId),
)

export const allSubscriptions =
  ({ db }: Storage): Handler<typeof listSubscriptions> =>
  async (who, { pattern, integration_id, enabled, limit, cursor }) => {
    const { orgId } = asMember(who)
    const before = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select({ subscription: subscriptions, integration: integrations, lastDeliveryAt: lastDelivery() })
      .from(subscriptions)
      .innerJoin(integrations, ofConnection)
      .where(
        and(
          eq(subscriptions.orgId, orgId),
          isNull(subscriptions.userId),
          pattern === undefined ? undefined : ilike(subscriptions.pattern, containing(pattern)),
          integration_id === undefined ? undefined : eq(subscriptions.integrationId, integration_id),
          enabled === undefined ? undefined : eq(subscriptions.enabled, enabled),
          before === undefined ? undefined : lt(subscriptions.id, before),
        ),
      )
      .orderBy(desc(subscriptions.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.subscription.id])
    return {
      subscriptions: page.rows.map((row) => present(row, row.lastDeliveryAt)),
      next_cursor: page.next_cursor,
    }
  }

export const subscribe =
  ({ db, clock }: Storage): Handler<typeof createSubscription> =>
  (who, { pattern, integration_id, timing }) =>
    withTransaction(db, async (tx) => {
      const { orgId, userId } = asMember(who)
      const integration = await lockConnection(tx, orgId, integration_id)
      requireReady(integration)
      const others = await patternsAt(tx, integration)
      requireNew(others, pattern)
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
        ...present({ subscription: subscription!, integration }, null),
        notes: notesOn(pattern, others),
      }
    })

/** Not a list to choose from, so what is typed may be wrong; a type that comes later is right to be there early. */
function notesOn(pattern: string, others: readonly string[]): string[] {
  const twice = others.find((other) => overlaps(other, pattern))
  return [
    ...(isKnown(pattern) ? [] : ['No event of this type is defined: nothing arrives until one is.']),
    ...(twice === undefined ? [] : [`Events that also match ${twice} arrive at this connection twice.`]),
  ]
}

const isKnown = (pattern: string): boolean => EVENT_TYPES.some((type) => matches(pattern, type))

/** One of two patterns contains the other, or they have nothing in common. */
function overlaps(a: string, b: string): boolean {
  const covers = (wide: string, narrow: string) =>
    wide.endsWith('.*') && patternsOf(narrow.replace(/\.\*$/, '.x')).includes(wide)
  return covers(a, b) || covers(b, a)
}

/** A forum posts into a category; until somebody says which, there is nowhere to post. */
function requireReady(integration: Connection): void {
  if (integration.kind !== 'forum' || categoryOf(integration) !== null) return
  throw new ServiceError('CONFLICT', 'Nobody has said where in the forum to post', {
    hint: 'Set the category of the forum first.',
  })
}

async function patternsAt(tx: Transaction, { orgId, id }: Connection, except = ''): Promise<string[]> {
  const rows = await tx
    .select({ pattern: subscriptions.pattern })
    .from(subscriptions)
    .where(
      and(eq(subscriptions.orgId, orgId), eq(subscriptions.integrationId, id), ne(subscriptions.id, except)),
    )
  return rows.map(({ pattern }) => pattern)
}

function requireNew(others: readonly string[], pattern: string): void {
  if (!others.includes(pattern)) return
  throw new ServiceError('CONFLICT', 'This connection has such a subscription already', {
    hint: 'Change or resume that one.',
  })
}

export const reviseSubscription =
  ({ db, clock }: Storage): Handler<typeof updateSubscription> =>
  (who, { subscription_id, ...asked }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = asMember(who)
      const { subscription: row, integration } = await lockSubscription(tx, orgId, subscription_id)
      const next = revised(row, asked)
      if (Object.keys(next).length > 0) {
        if (next.enabled === true) requireWorking(integration)
        if (next.pattern !== undefined) requireNew(await patternsAt(tx, integration, row.id), next.pattern)
        await tx.update(subscriptions).set(next).where(at(row))
        const subject = `${next.pattern ?? row.pattern} to ${integration.name}`
        await recordAudit(tx, clock, who, { orgId, action: 'subscription.changed', subject })
      }
      return present({ subscription: { ...row, ...next }, integration }, await lastOf(tx, row))
    })

type Asked = {
  readonly pattern?: string | undefined
  readonly timing?: SubscriptionRow['timing'] | undefined
  readonly enabled?: boolean | undefined
}

/** Paused by a person is paused: the return of a lost connection does not undo it. */
const revised = (row: SubscriptionRow, { pattern, timing, enabled }: Asked): Partial<SubscriptionRow> => ({
  ...(pattern !== undefined && pattern !== row.pattern && { pattern }),
  ...(timing !== undefined && timing !== row.timing && { timing }),
  ...(enabled === true && !row.enabled && { enabled: true, disabledReason: null }),
  ...(enabled === false &&
    row.disabledReason !== 'paused' && { enabled: false, disabledReason: 'paused' as const }),
})

function requireWorking({ state }: Connection): void {
  if (state === 'active') return
  throw new ServiceError('CONFLICT', 'The connection of this subscription does not work', {
    hint: 'Reconnect it or switch it on first.',
  })
}

export const unsubscribeConnection =
  ({ db, clock }: Storage): Handler<typeof deleteSubscription> =>
  (who, { subscription_id }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = asMember(who)
      const { subscription: row, integration } = await lockSubscription(tx, orgId, subscription_id)
      // The row of a default in `default_seeds` stays, so that it is never made again.
      await tx.delete(subscriptions).where(at(row))
      const subject = `${row.pattern} to ${integration.name}`
      await recordAudit(tx, clock, who, { orgId, action: 'subscription.deleted', subject })
      return {}
    })

export const trySubscription =
  ({ db, clock }: Storage): Handler<typeof testSubscription> =>
  (who, { subscription_id }) =>
    withTransaction(db, async (tx) => {
      const { orgId, userId } = asMember(who)
      const { subscription: row, integration } = await lockSubscription(tx, orgId, subscription_id)
      requireWorking(integration)
      if (!row.enabled) {
        throw new ServiceError('CONFLICT', 'This subscription is paused', { hint: 'Resume it first.' })
      }
      const event_id = await recordTestEvent(tx, clock, { orgId, subscriptionId: row.id, actorId: userId })
      const subject = `${row.pattern} to ${integration.name}`
      await recordAudit(tx, clock, who, { orgId, action: 'subscription.tested', subject })
      return { event_id }
    })

const at = (row: Pick<SubscriptionRow, 'orgId' | 'id'>) =>
  and(eq(subscriptions.orgId, row.orgId), eq(subscriptions.id, row.id))

/** The connection first, as everybody locks them. A person's own is nobody else's to change. */
async function lockSubscription(tx: Transaction, orgId: string, id: string): Promise<Seen> {
  const [found] = await tx
    .select({ integrationId: subscriptions.integrationId })
    .from(subscriptions)
    .where(and(at({ orgId, id }), isNull(subscriptions.userId)))
  if (!found?.integrationId) throw notFound()
  const integration = await lockConnection(tx, orgId, found.integrationId)
  const [subscription] = await tx.select().from(subscriptions).where(at({ orgId, id })).for('update')
  if (!subscription) throw notFound()
  return { subscription, integration }
}

async function lastOf(tx: Transaction, row: SubscriptionRow): Promise<string | null> {
  const [found] = await tx.select({ last: lastDelivery() }).from(subscriptions).where(at(row))
  return found?.last ?? null
}
