/**
 * A mail to one member, who is subscribed and has a verified address, or to an address that the organization connected and
 * somebody there confirmed. None to a mailbox that the mail server rejected.
 */
import { and, eq, inArray } from '../../../../db/drizzle.ts'
import { emailSuppressions, integrations, tickets } from '../../../../db/schema.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
import { atLeast } from '../../../contracts/roles.ts'
import { memberKey, type AddressHolder, type Member } from '../../directory/index.ts'
import { digestOf, emailDigest, emailOf, mailtoUrl } from '../integrations/integration-secret.ts'
import { isForAdmins, isToldToActor } from '../people.ts'
import { mailboxOf, unsubscribeToken } from '../subscriptions/unsubscribe-token.ts'
import {
  checkIntegration,
  checkSubscription,
  refuseAll,
  type ChannelDriver,
  type DriverDeps,
  type OutboundDelivery,
  type OutboundMessage,
} from './channel-driver.ts'
import { notificationMail } from './render-mail.ts'

type Recipient = {
  readonly to: string
  readonly refused: ReadonlyMap<OutboundDelivery, DeliveryReason>
  /** The one that its unsubscribe link ends; left out, that of the message. */
  readonly subscriptionId?: string
}

export const email: ChannelDriver = {
  async checkRecipient(deps, message) {
    const { orgId, integrationId, subscriptionId } = message
    const { db, directory, dataKeys, appUrl, siteUrl } = deps
    const recipient = await (integrationId === null ? checkMember(message) : checkAddress(deps, message))
    if (typeof recipient === 'string') return refuseAll(message, recipient)
    const { email: send } = deps.channels
    if (send === null) return refuseAll(message, 'no_mail_server')
    const { to, refused } = recipient
    const digest = emailDigest(dataKeys, to)
    const [suppressed] = await db
      .select({ reason: emailSuppressions.reason })
      .from(emailSuppressions)
      .where(eq(emailSuppressions.emailDigest, digest))
    if (suppressed) return refuseAll(message, 'address_suppressed')
    const token = unsubscribeToken(dataKeys.keyFor('unsubscribe'), {
      orgId,
      subscriptionId: recipient.subscriptionId ?? subscriptionId!,
      mailbox: integrationId === null ? null : mailboxOf(digestOf(dataKeys, mailtoUrl(to))),
    })
    const unsubscribeUrl = new URL(`/unsubscribe/${token}`, siteUrl).href
    const organization = (await directory.readOrganization(db, orgId))?.name ?? ''
    const titles = await readTitles(deps, message)
    const context = { appUrl, unsubscribeUrl, organization, titles, isIntegration: integrationId !== null }
    return {
      refused,
      route: {
        workspaceId: null,
        emailDigest: digest,
        secrets: [],
        send: (items) =>
          send({
            messageId: message.id,
            to,
            ...notificationMail(items, context),
            threadKey: items.length === 1 ? items[0]!.subject : null,
            listId: `${items[0]!.type.split('.').slice(0, -1).join('-')}.${orgId}`,
            unsubscribeUrl,
          }),
      },
    }
  },
}

function checkMember({ member, deliveries }: OutboundMessage): Recipient | DeliveryReason {
  const refused = new Map(
    deliveries.flatMap((delivery) => {
      const reason = checkSubscription(delivery.bySubscription)
      return reason === null ? [] : [[delivery, reason] as const]
    }),
  )
  const [subscribed] = deliveries.filter((delivery) => !refused.has(delivery))
  if (subscribed === undefined) return refused.values().next().value ?? 'subscription_off'
  if (member === null) return 'not_a_member'
  if (!member.isCurrent) return 'not_validated'
  if (member.email === null) return 'no_address'
  for (const delivery of deliveries)
    if (isForAdmins(delivery.type) && !atLeast(member.role, 'admin'))
      refused.set(delivery, refused.get(delivery) ?? 'no_longer_permitted')
  return { to: member.email, refused, subscriptionId: subscribed.bySubscription!.id }
}

const HOLDER_REFUSALS: Record<AddressHolder, DeliveryReason | null> = {
  member: null,
  nobody: null,
  former: 'not_a_member',
  not_current: 'not_validated',
}

/** Whoever left since they confirmed it gets nothing from that moment on, also before the integration is turned off. */
async function checkAddress(deps: DriverDeps, message: OutboundMessage): Promise<Recipient | DeliveryReason> {
  const secret = checkIntegration(deps, message)
  if (typeof secret === 'string') return secret
  const verifiedAt = message.integration?.verified_at
  if (verifiedAt == null) return 'address_unverified'
  const to = emailOf(secret.url)
  const at = { orgId: message.orgId, email: to, since: new Date(verifiedAt) }
  const reason = HOLDER_REFUSALS[await deps.directory.readAddressHolder(deps.db, at)]
  return reason ?? { to, refused: await ownActions(deps, message, to) }
}

/** What the reader of this address did themselves. */
async function ownActions(
  { db, directory }: DriverDeps,
  { orgId, deliveries }: OutboundMessage,
  address: string,
): Promise<ReadonlyMap<OutboundDelivery, DeliveryReason>> {
  const acted = deliveries.flatMap((delivery) =>
    delivery.actorId === null || isToldToActor(delivery.type)
      ? []
      : [{ delivery, key: { orgId, userId: delivery.actorId } }],
  )
  const members = await directory.readMembers(
    db,
    acted.map(({ key }) => key),
  )
  const own = acted.filter(({ key }) => members.get(memberKey(key))?.email === address)
  return new Map(own.map(({ delivery }) => [delivery, 'own_action']))
}

/** What the recipient may know the things by that it is about: titles of tickets, and for admins names of integrations. */
async function readTitles(deps: DriverDeps, message: OutboundMessage): Promise<ReadonlyMap<string, string>> {
  const { member } = message
  if (member === null) return new Map()
  const names = atLeast(member.role, 'admin') ? await readIntegrationNames(deps, message) : []
  return new Map([...(await readTicketTitles(deps, message, member)), ...names])
}

type Titles = Iterable<readonly [id: string, title: string]>

async function readIntegrationNames(
  { db }: DriverDeps,
  { orgId, deliveries }: OutboundMessage,
): Promise<Titles> {
  const ids = deliveries.flatMap(({ data }) => data['integration_id'] ?? [])
  if (ids.length === 0) return []
  const rows = await db
    .select({ id: integrations.id, name: integrations.name })
    .from(integrations)
    .where(and(eq(integrations.orgId, orgId), inArray(integrations.id, ids)))
  return rows.map(({ id, name }) => [id, name])
}

/** Everybody on the app and owners and admins read all of them, the reporter their own. */
async function readTicketTitles(
  { db }: DriverDeps,
  { orgId, userId, deliveries }: OutboundMessage,
  member: Member,
): Promise<Titles> {
  const visible = new Map(
    deliveries.flatMap(({ data, isAppMember }) =>
      data['ticket_id'] === undefined
        ? []
        : [[data['ticket_id'], isAppMember || atLeast(member.role, 'admin')] as const],
    ),
  )
  if (visible.size === 0) return []
  const rows = await db
    .select({ id: tickets.id, title: tickets.title, reporterId: tickets.reporterId })
    .from(tickets)
    .where(and(eq(tickets.orgId, orgId), inArray(tickets.id, [...visible.keys()])))
  return rows
    .filter(({ id, reporterId }) => visible.get(id) === true || reporterId === userId)
    .map(({ id, title }) => [id, title])
}
