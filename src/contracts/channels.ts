/**
 * The table of channels, the ways a message leaves. Plain constants: the client `svc` loads this file and no zod. A new
 * channel is a row here, a driver (src/cores/notifications/channels), an adapter (src/adapters) and a migration, and the
 * compiler names every place that is missing one.
 */
import { DIGEST_LINES, WEBHOOK_POST } from './limits.ts'

const MINUTE = 60
const HOUR = 60 * MINUTE

type ChannelRow = {
  /** As pages and lists show it. */
  readonly label: string
  /**
   * `integration`: a destination that the organization connected. `person`: a member, whose right to the message is
   * checked again right before every attempt.
   */
  readonly recipients: readonly ('integration' | 'person')[]
  /** Whether the address of an integration must be proven by whoever reads there, before anything is sent to it. */
  readonly verifiesAddress: boolean
  /** To one destination. */
  readonly rate: { readonly perSecond: number; readonly burst: number }
  /** Whether every organization's messages go through one server: when it hangs, it must not take all slots. */
  readonly sharedServer: boolean
  /** Seconds to wait after each refused attempt; after the last one the message is given up. */
  readonly retrySeconds: readonly number[]
  /** Whether a message whose answer was lost is sent again: only where the receiver recognizes a repetition by its id. */
  readonly repeatable: 'never' | 'always' | 'if_integration_allows'
  /** Whether several deliveries may share one message. */
  readonly digest: boolean
  /** Deliveries that one message carries: a longer digest is split. */
  readonly itemsMax: number
}

/** interface.md, "a handful" of retries. */
const A_HANDFUL = [10, MINUTE, 5 * MINUTE, 30 * MINUTE]

export const CHANNELS = {
  email: {
    label: 'Email',
    recipients: ['person', 'integration'],
    verifiesAddress: true,
    // Nobody reads faster, and a mailbox that gets more takes it for an attack.
    rate: { perSecond: 10, burst: 10 },
    sharedServer: true,
    retrySeconds: [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 4 * HOUR],
    repeatable: 'never',
    digest: true,
    itemsMax: DIGEST_LINES,
  },
  chat: {
    label: 'Chat channel',
    recipients: ['integration'],
    verifiesAddress: false,
    // The chat services' own limit.
    rate: { perSecond: 1, burst: 1 },
    sharedServer: false,
    retrySeconds: A_HANDFUL,
    repeatable: 'never',
    digest: true,
    itemsMax: DIGEST_LINES,
  },
  direct_message: {
    label: 'Direct message',
    recipients: ['person'],
    verifiesAddress: false,
    rate: { perSecond: 1, burst: 1 },
    sharedServer: true,
    retrySeconds: A_HANDFUL,
    repeatable: 'never',
    digest: true,
    itemsMax: DIGEST_LINES,
  },
  webhook: {
    label: 'Webhook',
    recipients: ['integration'],
    verifiesAddress: false,
    rate: { perSecond: 10, burst: 10 },
    sharedServer: false,
    // Standard Webhooks 1.0.
    retrySeconds: [
      5,
      5 * MINUTE,
      30 * MINUTE,
      2 * HOUR,
      5 * HOUR,
      10 * HOUR,
      14 * HOUR,
      20 * HOUR,
      24 * HOUR,
    ],
    repeatable: 'if_integration_allows',
    digest: true,
    itemsMax: WEBHOOK_POST.objects,
  },
  forum: {
    label: 'Forum',
    recipients: ['integration'],
    verifiesAddress: false,
    rate: { perSecond: 1, burst: 1 },
    sharedServer: false,
    retrySeconds: A_HANDFUL,
    // The forum takes one topic per message id, so a second attempt finds the first.
    repeatable: 'always',
    // A post is in somebody's name, and a digest would have several.
    digest: false,
    itemsMax: 1,
  },
} as const satisfies Record<string, ChannelRow>

export type Channel = keyof typeof CHANNELS
export const CHANNEL_NAMES = Object.keys(CHANNELS) as [Channel, ...Channel[]]

/** An integration has the kind of the channel that leads to it. */
export type IntegrationKind = {
  [C in Channel]: 'integration' extends (typeof CHANNELS)[C]['recipients'][number] ? C : never
}[Channel]
export const INTEGRATION_KINDS = CHANNEL_NAMES.filter((name): name is IntegrationKind =>
  (CHANNELS[name].recipients as ChannelRow['recipients']).includes('integration'),
) as [IntegrationKind, ...IntegrationKind[]]

/** `waiting` (no attempt yet, or in an open digest) and `retrying` are open; the others are settled. */
export const DELIVERY_STATES = ['waiting', 'retrying', 'sent', 'failed', 'dropped'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

export const TIMINGS = ['immediately', 'hourly', 'daily'] as const
export type Timing = (typeof TIMINGS)[number]
/** decisions, 11: a forum takes `immediately` only. */
export const takesTiming = (channel: Channel, timing: Timing): boolean =>
  CHANNELS[channel].digest || timing === 'immediately'

/** What people follow of an app. */
export const CATEGORIES = ['Checks', 'Maintenance', 'Failed deploys', 'Tickets'] as const
export type Category = (typeof CATEGORIES)[number]
