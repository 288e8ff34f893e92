/** A message to a follower at the chat service, from the organization's installed app. */
import { and, eq, inArray } from '../../../../db/drizzle.ts'
import { chatLinks, integrations } from '../../../../db/schema.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
import { EVENTS, type EventType } from '../../../contracts/events.ts'
import { atLeast } from '../../../contracts/roles.ts'
import type { Member } from '../../directory/index.ts'
import { openIntegrationSecret } from '../integrations/integration-secret.ts'
import {
  refuseAll,
  type ChannelDriver,
  type DriverDeps,
  type OutboundDelivery,
  type OutboundMessage,
} from './channel-driver.ts'
import { personalText } from './render.ts'

export const directMessage: ChannelDriver = {
  async checkRecipient(deps, message) {
    const { member, deliveries } = message
    if (member === null) return refuseAll(message, 'not_a_member')
    if (!member.isCurrent) return refuseAll(message, 'not_validated')
    const refused = new Map(
      deliveries.flatMap((delivery) => {
        const reason = checkFollower(member, delivery)
        return reason === null ? [] : [[delivery, reason] as const]
      }),
    )
    if (refused.size === deliveries.length) return { refused, route: null }
    const account = await findChatAccount(deps, message)
    if (typeof account === 'string') {
      return {
        refused: new Map(deliveries.map((delivery) => [delivery, refused.get(delivery) ?? account])),
        route: null,
      }
    }
    const { workspaceId, sealed, botToken, chatUserId } = account
    return {
      refused,
      route: {
        workspaceId,
        sealed,
        secrets: [botToken],
        send: (items) =>
          deps.channels.direct_message({
            messageId: message.id,
            botToken,
            chatUserId,
            text: personalText(items, deps.appUrl),
          }),
      },
    }
  },
}

/** interface.md, Events 5: "re-checked at every send". */
function checkFollower(
  { role }: Member,
  { app, type, isAppMember, followed }: OutboundDelivery,
): DeliveryReason | null {
  if (app === null || !(isAppMember || atLeast(role, 'admin'))) return 'no_longer_permitted'
  const category = type in EVENTS ? EVENTS[type as EventType].category : null
  return category !== null && followed?.includes(category) ? null : 'subscription_off'
}

type ChatAccount = {
  readonly workspaceId: string
  readonly sealed: string
  readonly botToken: string
  readonly chatUserId: string
}

async function findChatAccount(
  { db, dataKeys }: DriverDeps,
  { orgId, userId }: OutboundMessage,
): Promise<ChatAccount | DeliveryReason> {
  const workspaces = await db
    .select()
    .from(integrations)
    .where(
      and(
        eq(integrations.orgId, orgId),
        eq(integrations.kind, 'chat'),
        inArray(integrations.state, ['active', 'paused']),
      ),
    )
    .orderBy(integrations.id)
  const installed = workspaces.filter(({ teamId }) => teamId !== null)
  if (installed.length === 0) return 'no_chat_workspace'
  const [link] = await db
    .select()
    .from(chatLinks)
    .where(and(eq(chatLinks.orgId, orgId), eq(chatLinks.userId, userId!)))
  if (!link) return 'no_chat_account'
  if (link.inactiveAt !== null) return 'chat_account_inactive'
  for (const workspace of installed.filter(({ teamId }) => teamId === link.teamId)) {
    const { botToken } = openIntegrationSecret(dataKeys, workspace)
    if (botToken === undefined) continue
    return {
      workspaceId: workspace.id,
      sealed: workspace.sealed,
      botToken,
      chatUserId: link.chatUserId,
    }
  }
  return 'no_chat_workspace'
}
