/** The unsubscribe link of a mail: it needs no sign-in, turns off one subscription, and tells a forger nothing. */
import type { Handle } from '../../../../db/connect.ts'
import { and, eq, inArray } from '../../../../db/drizzle.ts'
import { integrations, subscriptions } from '../../../../db/schema.ts'
import type { DataKeys } from '../../../trust/data-key.ts'
import type { Storage } from '../../dependencies.ts'
import { togetherKeys } from '../fan-out/default-subscriptions.ts'
import { integrationKey } from '../integrations/integration-rows.ts'
import { writeInSteps, type Verb } from '../../verb.ts'
import type { SubscriptionRow } from './subscription-rows.ts'
import { mailboxOf, readUnsubscribeToken } from './unsubscribe-token.ts'

export type UnsubscribeDeps = Storage & { readonly dataKeys: DataKeys }

export const readToken = ({ dataKeys }: UnsubscribeDeps, token: string) =>
  readUnsubscribeToken(dataKeys.keyFor('unsubscribe'), token)

type MailedSubscription = NonNullable<ReturnType<typeof readUnsubscribeToken>>

export const subscriptionBy = ({ orgId, subscriptionId }: MailedSubscription) =>
  and(eq(subscriptions.orgId, orgId), eq(subscriptions.id, subscriptionId))

/** Whether its mails still go where this link was mailed to. */
export async function isCurrentMailbox(
  db: Handle,
  { mailbox }: MailedSubscription,
  { orgId, integrationId }: Pick<SubscriptionRow, 'orgId' | 'integrationId'>,
): Promise<boolean> {
  if (integrationId === null) return mailbox === null
  const [row] = await db
    .select({ digest: integrations.digest })
    .from(integrations)
    .where(integrationKey({ orgId, id: integrationId }))
  return row !== undefined && mailboxOf(row.digest) === mailbox
}

/** Itself, and those that come in the same message: whoever ends that ends all of it. */
export async function endedWith(db: Handle, row: SubscriptionRow): Promise<readonly SubscriptionRow[]> {
  const keys = row.userId === null ? [] : togetherKeys(row.userId)
  if (row.defaultKey === null || !keys.includes(row.defaultKey)) return [row]
  return db
    .select()
    .from(subscriptions)
    .where(and(eq(subscriptions.orgId, row.orgId), inArray(subscriptions.defaultKey, keys)))
    .orderBy(subscriptions.pattern)
}

export const patternsOf = (rows: readonly SubscriptionRow[]): string =>
  rows.map(({ pattern }) => pattern).join(' and ')

/** Only the person can turn it on again. */
export const unsubscribe: Verb<'unsubscribe', UnsubscribeDeps> = writeInSteps(
  { by: 'principal', audit: 'subscription.unsubscribed' },
  async (context, { token }) => {
    const { principal, transaction } = context
    const named = readToken(context, token)
    if (!named) return {}
    await transaction(async ({ tx, audit }) => {
      const [row] = await tx.select().from(subscriptions).where(subscriptionBy(named)).for('update')
      if (!row || row.disabledReason === 'unsubscribed') return
      if (!(await isCurrentMailbox(tx, named, row))) return
      const ended = await endedWith(tx, row)
      await tx
        .update(subscriptions)
        .set({ enabled: false, disabledReason: 'unsubscribed' })
        .where(
          and(
            eq(subscriptions.orgId, row.orgId),
            inArray(
              subscriptions.id,
              ended.map(({ id }) => id),
            ),
          ),
        )
      const as = { ...principal, userName: 'an unsubscribe link' }
      await audit('subscription.unsubscribed', patternsOf(ended), { orgId: row.orgId, as })
    })
    return {}
  },
)
