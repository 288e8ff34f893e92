/** What every channel's driver does: checks the recipient of a message, and says how to send it; and what drivers share. */
import type { Category, Channel } from '../../../contracts/channels.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
import type { DISABLED_REASONS, IntegrationState } from '../../../contracts/integrations.ts'
import type { DataKeys } from '../../../trust/data-key.ts'
import type { Log, Storage } from '../../dependencies.ts'
import type { Member, WithDirectory } from '../../directory/index.ts'
import { openIntegrationSecret, type IntegrationSecret } from '../integrations/integration-secret.ts'
import type { TargetHealth } from '../delivery/claim-messages.ts'
import type { ChannelPorts, Outcome } from './channel-ports.ts'
import type { MessageItem } from './render.ts'

export type DriverDeps = Storage &
  WithDirectory &
  Log & {
    readonly channels: ChannelPorts
    readonly dataKeys: DataKeys
    readonly appUrl: URL
    readonly siteUrl: URL
  }

/** A message with everything that decides whether it may go, read a moment ago. */
export type OutboundMessage = {
  readonly orgId: string
  readonly id: string
  readonly channel: Channel
  readonly target: string
  /** Whether the target may be sent to over a connection that was kept from an earlier message. */
  readonly keepsSockets: boolean
  readonly health: TargetHealth
  /** Of the event: older ones of a subject go first. */
  readonly seq: number
  readonly integrationId: string | null
  readonly integration: {
    readonly state: IntegrationState
    readonly config: Readonly<Record<string, string | number | boolean>>
    readonly sealed: string
    readonly verified_at: string | null
  } | null
  readonly subscriptionId: string | null
  readonly subscription: {
    readonly enabled: boolean
    readonly disabled_reason: (typeof DISABLED_REASONS)[number] | null
  } | null
  readonly userId: string | null
  /** Null: it goes to nobody in person, or to somebody who is not a member any more. */
  readonly member: Member | null
  readonly deliveries: readonly OutboundDelivery[]
}

export type OutboundDelivery = MessageItem & {
  readonly actorId: string | null
  /** Its own: a digest of notices to an admin is of several. */
  readonly bySubscription: (NonNullable<OutboundMessage['subscription']> & { readonly id: string }) | null
  /** Of the person it goes to: whether they build or maintain the app, and which categories of it they follow. */
  readonly isAppMember: boolean
  readonly followed: readonly Category[] | null
}

export type Route = {
  /** Of a direct message: the integration whose app sends it. */
  readonly workspaceId: string | null
  /** What that integration is reached with; without it, the message's own is. */
  readonly sealed?: string
  /** Of a mail: whom it goes to. */
  readonly emailDigest?: string
  /** What the receiver is reached with. */
  readonly secrets: readonly string[]
  /** Of several messages only where they are webhooks. */
  send(items: readonly MessageItem[]): Promise<Outcome>
}

/** Deliveries that must not go, each with its reason; the others take the route. */
export type RecipientCheck = {
  readonly refused: ReadonlyMap<OutboundDelivery, DeliveryReason>
  readonly route: Route | null
}

export type ChannelDriver = {
  checkRecipient(deps: DriverDeps, message: OutboundMessage): Promise<RecipientCheck> | RecipientCheck
}

export const refuseAll = ({ deliveries }: OutboundMessage, reason: DeliveryReason): RecipientCheck => ({
  refused: new Map(deliveries.map((delivery) => [delivery, reason])),
  route: null,
})

export const routeAll = (secrets: readonly string[], send: Route['send']): RecipientCheck => ({
  refused: new Map(),
  route: { workspaceId: null, secrets, send },
})

/** What the integration is reached with, or why it is not sent to. */
export function checkIntegration(
  { dataKeys }: DriverDeps,
  { orgId, integrationId, integration, subscriptionId, subscription }: OutboundMessage,
): IntegrationSecret | DeliveryReason {
  if (integrationId === null || integration === null) return 'subscription_off'
  // A test of the integration itself came by no subscription.
  const reason =
    STOPPED[integration.state] ?? (subscriptionId === null ? null : checkSubscription(subscription))
  return reason ?? openIntegrationSecret(dataKeys, { orgId, id: integrationId, sealed: integration.sealed })
}

/** What became of an integration is the reason for everything that was still queued for it. */
const STOPPED: Record<IntegrationState, DeliveryReason | null> = {
  active: null,
  // Its target is held: what is on its way here already is given back before it starts.
  paused: null,
  unverified: 'address_unverified',
  off: 'integration_off',
  lost: 'integration_lost',
  gone: 'endpoint_gone',
  dead: 'endpoint_dead',
}

export function checkSubscription(subscription: OutboundMessage['subscription']): DeliveryReason | null {
  if (subscription?.enabled) return null
  return subscription?.disabled_reason === 'integration_lost' ? 'integration_lost' : 'subscription_off'
}
