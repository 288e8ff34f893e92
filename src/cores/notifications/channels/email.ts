/** A mail to one member: subscribed, with a verified address that no mail server rejected, and the right to read it. */
import { eq } from '../../../../db/drizzle.ts'
import { emailSuppressions } from '../../../../db/schema.ts'
import { atLeast } from '../../../contracts/roles.ts'
import { digestOf } from '../integrations/integration-secret.ts'
import { isForAdmins } from '../people.ts'
import { unsubscribeToken } from '../subscriptions/unsubscribe-token.ts'
import { checkSubscription, refuseAll, type ChannelDriver, type DriverDeps } from './channel-driver.ts'
import { mailText } from './render.ts'

export const email: ChannelDriver = {
  async checkRecipient(deps, message) {
    const { orgId, member, subscriptionId, subscription, deliveries } = message
    const { db, dataKeys, appUrl, siteUrl } = deps
    const reason = checkSubscription(subscription)
    if (reason !== null) return refuseAll(message, reason)
    if (member === null) return refuseAll(message, 'not_a_member')
    if (!member.isCurrent) return refuseAll(message, 'not_validated')
    const { email: to, role } = member
    if (to === null) return refuseAll(message, 'no_address')
    const { email: send } = deps.channels
    if (send === null) return refuseAll(message, 'no_mail_server')
    const [suppressed] = await db
      .select({ reason: emailSuppressions.reason })
      .from(emailSuppressions)
      .where(eq(emailSuppressions.emailDigest, emailDigest(deps, to)))
    if (suppressed) return refuseAll(message, 'address_suppressed')
    const token = unsubscribeToken(dataKeys.keyFor('unsubscribe'), { orgId, subscriptionId: subscriptionId! })
    const unsubscribeUrl = new URL(`/unsubscribe/${token}`, siteUrl).href
    return {
      refused: new Map(
        deliveries
          .filter(({ type }) => isForAdmins(type) && !atLeast(role, 'admin'))
          .map((delivery) => [delivery, 'no_longer_permitted'] as const),
      ),
      route: {
        workspaceId: null,
        secrets: [],
        send: (items) =>
          send({
            messageId: message.id,
            to,
            ...mailText(items, { appUrl, unsubscribeUrl }),
            threadKey: items.length === 1 ? items[0]!.subject : null,
            listId: `${items[0]!.type.split('.').slice(0, -1).join('-')}.${orgId}`,
            unsubscribeUrl,
          }),
      },
    }
  },
}

export const emailDigest = ({ dataKeys }: Pick<DriverDeps, 'dataKeys'>, address: string): string =>
  digestOf(dataKeys, address.toLowerCase())
