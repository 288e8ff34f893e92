/** The link at the foot of a mail. It needs no sign-in, switches off one subscription, and tells a forger nothing. */
import { and, eq } from '../../../db/drizzle.ts'
import { organizations, subscriptions } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operation.ts'
import type { showUnsubscribe, unsubscribe } from '../../contracts/subscriptions.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { readUnsubscribeToken } from './unsubscribe-token.ts'

type UnsubscribeNeeds = Storage & { readonly dataKeys: DataKeys }

const read = ({ dataKeys }: UnsubscribeNeeds, token: string) =>
  readUnsubscribeToken(dataKeys.keyFor('unsubscribe'), token)

type Named = NonNullable<ReturnType<typeof readUnsubscribeToken>>

const at = ({ orgId, subscriptionId }: Named) =>
  and(eq(subscriptions.orgId, orgId), eq(subscriptions.id, subscriptionId))

/** A forged token and one whose subscription is gone are answered alike. */
export const showWhatStops =
  (needs: UnsubscribeNeeds): Handler<typeof showUnsubscribe> =>
  async (_nobody, { token }) => {
    const named = read(needs, token)
    const [found] = named
      ? await needs.db
          .select({
            pattern: subscriptions.pattern,
            organization: organizations.name,
            enabled: subscriptions.enabled,
          })
          .from(subscriptions)
          .innerJoin(organizations, eq(organizations.id, subscriptions.orgId))
          .where(at(named))
      : []
    return found ?? { pattern: null, organization: null, enabled: false }
  }

/** For good: not even the return of a connection switches it on again, only the person. */
export const stopMails =
  (needs: UnsubscribeNeeds): Handler<typeof unsubscribe> =>
  async (nobody, { token }) => {
    const named = read(needs, token)
    if (!named) return {}
    await withTransaction(needs.db, async (tx) => {
      const [row] = await tx.select().from(subscriptions).where(at(named)).for('update')
      if (!row || row.disabledReason === 'unsubscribed') return
      await tx.update(subscriptions).set({ enabled: false, disabledReason: 'unsubscribed' }).where(at(named))
      const by = { ...nobody, userName: 'a link in a mail' }
      const { orgId, pattern: subject } = row
      await recordAudit(tx, needs.clock, by, { orgId, action: 'subscription.unsubscribed', subject })
    })
    return {}
  }
