/** The ledger: every event, every message about it, every attempt, and why something was not sent. */
import * as z from 'zod'
import { EventPattern, TimingName } from './events.ts'
import { Time } from './fields.ts'
import { Id } from './ids.ts'
import { operation } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'

export const CHANNELS = ['email', 'chat', 'direct_message', 'webhook', 'forum'] as const
export type Channel = (typeof CHANNELS)[number]

/** `waiting` (not begun, or in an open digest) and `retrying` are open; the others are settled. */
export const DELIVERY_STATES = ['waiting', 'retrying', 'sent', 'failed', 'dropped'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** Every reason a message was not sent, in the words the console shows. */
export const REASONS = {
  matched_nobody: 'No subscription and nobody follows it',
  outcome_unknown: 'It may have arrived: the answer was lost, so it is not sent again by itself',
  refused: 'The receiver refused it',
  server_error: 'The receiver answered with an error',
  rate_limited: 'The receiver asked us to wait',
  not_reached: 'The receiver could not be reached',
  address_refused: 'The address leads to a private network',
  gave_up: 'Every attempt failed',
  endpoint_gone: 'The receiver answered that the address is gone for good',
  endpoint_dead: 'The receiver failed for days, so sending to it was stopped',
  connection_lost: 'The connection to the chat service stopped working',
  connection_off: 'The connection is switched off',
  subscription_off: 'The subscription was switched off or deleted meanwhile',
  no_mail_server: 'No mail server is set up',
  no_address: 'The person has no verified address',
  address_suppressed: 'The mail server refused this address for good',
  no_chat_workspace: 'No chat workspace is connected',
  no_chat_account: 'No chat account is linked',
  chat_account_inactive: 'The linked chat account is inactive',
  no_longer_permitted: 'The person no longer builds, maintains or administers the app',
  not_a_member: 'The person left the organization',
  no_forum_account: 'The acting person has no account at the forum',
  no_acting_person: 'Nobody caused it, and the forum posts only in somebody’s name',
} as const
export type SendReason = keyof typeof REASONS
export const SEND_REASONS = Object.keys(REASONS) as [SendReason, ...SendReason[]]

/** A ledger row speaks of outcomes in three words; what is still open has none. */
const OUTCOMES = ['sent', 'failed', 'dropped'] as const

/** decisions 11: identifiers only, the same on every attempt. */
export const ThinNotification = z.strictObject({
  id: z.string(),
  type: z.string(),
  subject: z.string(),
  timestamp: Time,
  specversion: z.literal('1.0'),
  source: z.string(),
  time: Time,
  data: z.record(z.string(), z.string()),
})
export type ThinNotification = z.output<typeof ThinNotification>

const Delivery = z.object({
  id: z.string().describe('The notification id that receivers see.'),
  event_id: z.string(),
  type: z.string(),
  subject: z.string(),
  app: z.string().nullable(),
  channel: z.enum(CHANNELS).nullable(),
  destination: z.string().nullable().describe('Name of the connection, or the person; never an address.'),
  state: z.enum(DELIVERY_STATES),
  reason: z.enum(SEND_REASONS).nullable(),
  unconfirmed: z.boolean().describe('Failed because the answer was lost: it may have arrived.'),
  attempts: z.int(),
  duration_ms: z.int().nullable().describe('Of the last attempt.'),
  next_attempt_at: Time.nullable(),
  replay_of: z.string().nullable(),
  created_at: Time,
  settled_at: Time.nullable(),
})

const Attempt = z.object({
  number: z.int(),
  started_at: Time,
  ended_at: Time.nullable(),
  outcome: z.enum(OUTCOMES).nullable(),
  reason: z.enum(SEND_REASONS).nullable(),
  http_status: z.int().nullable(),
  duration_ms: z.int().nullable(),
})

const ledger = {
  service: 'api-gateway',
  scope: null,
  who: 'admin',
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
} as const
const reads = { readOnly: true, destructive: false, idempotent: true } as const
const writes = { readOnly: false, destructive: false, idempotent: false } as const

export const deliveryFilters = {
  type: EventPattern.optional().describe('An event type, or a prefix and a star.'),
  state: z.enum(DELIVERY_STATES).optional(),
  reason: z.enum(SEND_REASONS).optional(),
  channel: z.enum(CHANNELS).optional(),
  integration_id: Id('int').optional(),
  app: z.string().max(40).optional().describe('The alias.'),
  event_id: Id('evt').optional(),
  from: z.iso.datetime().optional(),
  to: z.iso.datetime().optional(),
}

export const listDeliveries = operation({
  ...ledger,
  ...reads,
  name: 'deliveries.list',
  summary: 'Read the delivery ledger, newest first.',
  input: z.object({ ...deliveryFilters, ...pageInput }),
  output: z.object({ deliveries: z.array(Delivery), ...pageOutput }),
  http: { method: 'get', path: '/api/notifications/deliveries' },
})

export const summarizeDeliveries = operation({
  ...ledger,
  ...reads,
  name: 'deliveries.summarize',
  summary:
    'How delivery does: outcomes per day, the share that arrived, how long it took, what waits longest.',
  input: z.object({}),
  output: z.object({
    days: z.array(
      z.object({ day: z.iso.date(), sent: z.int(), failed: z.int(), dropped: z.int(), open: z.int() }),
    ),
    last_24_hours: z.object({
      sent: z.int(),
      failed: z.int(),
      unconfirmed: z.int(),
      p95_ms: z.int().nullable().describe('From the event to the answer of the receiver.'),
    }),
    oldest_waiting_at: Time.nullable(),
  }),
  http: { method: 'get', path: '/api/notifications/deliveries/summary' },
})

export const showDelivery = operation({
  ...ledger,
  ...reads,
  name: 'deliveries.show',
  summary: 'Show one delivery: what was sent, and every attempt.',
  input: z.object({ delivery_id: Id('ntf') }),
  output: Delivery.extend({
    timing: TimingName.nullable(),
    notification: ThinNotification,
    attempts_made: z.array(Attempt),
    digest_of: z.int().describe('How many notifications the same message carried.'),
  }),
  errors: [...ledger.errors, 'NOT_FOUND'],
  http: { method: 'get', path: '/api/notifications/deliveries/{delivery_id}' },
})

export const replayDelivery = operation({
  ...ledger,
  ...writes,
  takesIdempotencyKey: true,
  name: 'deliveries.replay',
  summary: 'Send one notification again, under a new id. It may arrive a second time.',
  input: z.object({ delivery_id: Id('ntf') }),
  output: z.object({ id: z.string(), replay_of: z.string() }),
  errors: [...ledger.errors, 'NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: '/api/notifications/deliveries/{delivery_id}/replay', success: 201 },
})

export const REPLAYS_MAX = 1_000

export const replayFailed = operation({
  ...ledger,
  ...writes,
  takesIdempotencyKey: true,
  name: 'deliveries.replayFailed',
  summary:
    'Send again what failed in a span of time, at most 1,000 of them. Unconfirmed ones may arrive twice.',
  input: z.object({
    from: z.iso.datetime(),
    to: z.iso.datetime().optional(),
    integration_id: Id('int').optional(),
    include_unconfirmed: z.boolean().default(false),
  }),
  output: z.object({ replayed: z.int(), more: z.boolean() }),
  http: { method: 'post', path: '/api/notifications/deliveries/replay' },
})
