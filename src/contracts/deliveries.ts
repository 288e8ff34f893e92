/** The delivery ledger: what became of every event, by which attempts, and why something was not sent. */
import * as z from 'zod'
import { CHANNEL_NAMES, DELIVERY_STATES, INTEGRATION_KINDS } from './channels.ts'
import { byEvent, TimingName } from './events.ts'
import { field } from './field.ts'
import { fromTo, START_TIME, Time } from './fields.ts'
import { Id } from './ids.ts'
import { INTEGRATION_STATES } from './integrations.ts'
import { DELIVERY_WAIT_MAX_SECONDS } from './limits.ts'
import { creating, reading, updating } from './operation.ts'
import { ageOutput, countedPageInput, countedPageOutput } from './paging.ts'

/** Why a receiver was not reached, and what an admin can do about it: nothing of the message left. */
const REASONS_NOT_REACHED = {
  certificate_expired: {
    is: 'The receiver’s certificate has expired',
    advice: 'Renew the certificate of the receiver. Deliveries go out again by themselves.',
  },
  certificate_name: {
    is: 'The receiver’s certificate is for another host name',
    advice: 'Use the host name that the certificate names, or install a certificate for this one.',
  },
  certificate_untrusted: {
    is: 'The receiver’s certificate is not from a trusted authority',
    advice:
      'Install a certificate of a public authority, with its intermediate certificates. A self-signed one is not accepted.',
  },
  tls_failed: {
    is: 'No encrypted connection could be made to the receiver',
    advice: 'Check that the receiver speaks https on this port, with TLS 1.2 or later.',
  },
  name_not_found: {
    is: 'The receiver’s host name has no address',
    advice: 'Check the host name in the URL, and its DNS records.',
  },
  connection_refused: {
    is: 'The receiver refused the connection',
    advice: 'Check that the receiver runs and listens on this port, and that no firewall rejects it.',
  },
  reset: {
    is: 'The receiver closed the connection before anything was sent',
    advice: 'Look into the log of the receiver, or of the proxy in front of it.',
  },
  timed_out: {
    is: 'No connection could be made in time',
    advice: 'Check that the receiver runs, and that a firewall lets connections from this service through.',
  },
  not_reached: {
    is: 'The receiver could not be reached',
    advice: 'Check that the address is right and that the receiver runs.',
  },
} as const
export type NotReachedReason = keyof typeof REASONS_NOT_REACHED
export const NOT_REACHED = Object.keys(REASONS_NOT_REACHED) as readonly NotReachedReason[]

const sentences = <K extends string>(table: Readonly<Record<K, { is: string }>>) =>
  Object.fromEntries(Object.entries<{ is: string }>(table).map(([name, { is }]) => [name, is])) as Record<
    K,
    string
  >

/** Every reason for not being sent, or not yet, in the words that people read. */
export const REASONS = {
  matched_nobody: 'No subscription matched and nobody follows it',
  own_action: 'The person did it themselves',
  outcome_unknown: 'It may have arrived: no answer was received, so it is not sent again automatically',
  refused: 'The receiver rejected it',
  server_error: 'The receiver returned an error',
  rate_limited: 'The receiver asked us to slow down',
  ...sentences(REASONS_NOT_REACHED),
  address_refused: 'The address points to a private network',
  gave_up: 'Every attempt failed',
  endpoint_gone: 'The receiver answered 410: the address is gone',
  endpoint_dead: 'The receiver failed for days, so delivery was stopped',
  integration_lost: 'The service no longer accepts messages for this integration',
  integration_off: 'The integration is turned off',
  paused_too_long: 'The integration was paused for longer than deliveries are kept',
  expired: 'It could not be sent for as long as deliveries are kept',
  subscription_off: 'The subscription was paused or deleted',
  no_mail_server: 'No mail server is configured',
  no_address: 'The person has no verified email address',
  address_unverified: 'Nobody has confirmed the email address',
  address_suppressed: 'The mail server permanently rejected this address',
  no_chat_workspace: 'No chat workspace is connected',
  no_chat_account: 'No chat account is linked',
  chat_account_inactive: 'The linked chat account is inactive',
  no_longer_permitted: 'The person no longer builds, maintains or administers the app',
  not_a_member: 'The person left the organization',
  not_validated:
    'The person has not used this installation for 24 hours, so whether they are still a member is not known',
  no_forum_account: 'The person who acted has no account on the forum',
  no_acting_person: 'No person caused it, and forum posts need an author',
} as const
export type DeliveryReason = keyof typeof REASONS
export const DELIVERY_REASONS = Object.keys(REASONS) as [DeliveryReason, ...DeliveryReason[]]

/** What to do about it, where the reason alone does not say it. */
export const ADVICE: Readonly<Partial<Record<DeliveryReason, string>>> = {
  ...(Object.fromEntries(
    Object.entries(REASONS_NOT_REACHED).map(([name, { advice }]) => [name, advice]),
  ) as Record<NotReachedReason, string>),
  refused: 'What it answered is below. Signatures are checked against the URL exactly as it was entered.',
  server_error: 'The fault is in the receiver: what it answered is below, and its own log has the rest.',
  gave_up: 'Fix the receiver, then replay this delivery, or recover everything that it missed.',
  endpoint_gone: 'Set a new URL, or turn the integration on again once the old one works.',
  endpoint_dead: 'Fix the receiver, turn the integration on again, and recover what it missed.',
  integration_lost: 'Reconnect the integration, and recover what it missed.',
  integration_off: 'Turn the integration on, and recover what it missed.',
  address_refused: 'The operator of this service can allow networks with NOTIFY_ALLOW_NETS.',
  no_forum_account: 'They can sign in to the forum once, and then the delivery can be replayed.',
}

/** Not sent because somebody chose so, or left: nothing is wrong with the receiver. */
export const NOT_SENT_BY_CHOICE: readonly DeliveryReason[] = [
  'matched_nobody',
  'own_action',
  'integration_off',
  'paused_too_long',
  'subscription_off',
  'no_longer_permitted',
  'not_a_member',
]

/** interface.md, the ledger's three outcomes; an attempt without an answer yet has none. */
const OUTCOMES = ['sent', 'failed', 'dropped'] as const

/** decisions, 11: identifiers only; `id` comes from event, target and replay, and is the same on every attempt. */
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
  id: z.string(),
  event_id: z.string(),
  type: z.string(),
  subject: z.string(),
  app: z.string().nullable(),
  channel: z.enum(CHANNEL_NAMES).nullable(),
  destination: z.string().nullable().describe('Name of the integration or the person; never an address.'),
  state: z.enum(DELIVERY_STATES),
  reason: z.enum(DELIVERY_REASONS).nullable(),
  unconfirmed: z.boolean().describe('Failed without an answer: it may have arrived.'),
  attempts: z.int(),
  http_status: z.int().nullable().describe('Of the last attempt.'),
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
  reason: z.enum(DELIVERY_REASONS).nullable(),
  http_status: z.int().nullable(),
  duration_ms: z.int().nullable(),
  carried_by: z
    .string()
    .nullable()
    .describe('The message in whose POST it was sent along with others; null: it was sent by itself.'),
  response: z
    .string()
    .nullable()
    .describe('The first 1 KiB of the answer as plain text, without secrets. Kept for seven days.'),
  response_withheld: z
    .boolean()
    .describe('There was an answer, and none of it is kept: it came from a private network.'),
  request_headers: z
    .record(z.string(), z.string())
    .nullable()
    .describe('Of a webhook that failed: what was sent along, signatures masked. Kept for seven days.'),
})

/** `stopped`: the integration was turned off, lost or removed meanwhile. */
export const RECOVERY_STATES = ['running', 'done', 'stopped'] as const
export type RecoveryState = (typeof RECOVERY_STATES)[number]

const Recovery = z.object({
  id: z.string(),
  integration_id: z.string(),
  since: Time,
  include_unconfirmed: z.boolean(),
  state: z.enum(RECOVERY_STATES),
  queued: z.int().describe('Deliveries that were queued again so far, each under a new id.'),
  created_at: Time,
  ended_at: Time.nullable(),
})

export const byIntegration = field(Id('int').optional(), {
  client: { value: 'id', summary: 'Filter by integration (int_…)' },
})

const ledger = {
  service: 'api-gateway',
  access: 'admin',
} as const

export const deliveryFilters = {
  type: byEvent.describe('An event type, or a prefix and a star.'),
  state: z.enum(DELIVERY_STATES).optional(),
  reason: z.enum(DELIVERY_REASONS).optional(),
  channel: z.enum(CHANNEL_NAMES).optional(),
  app: field(z.string().max(40).optional().describe('The alias.'), {
    client: { value: 'alias', summary: 'Filter by app', values: 'apps' },
  }),
  event_id: field(Id('evt').optional(), { client: 'Filter by event (evt_…)' }),
  integration_id: byIntegration,
  ...fromTo,
}

export const listDeliveries = reading({
  ...ledger,
  name: 'listDeliveries',
  mayBeOld: true,
  summary: 'List deliveries, newest first.',
  input: z.object({
    ...deliveryFilters,
    missed: z.stringbool().default(false).describe('Only what was to arrive and has not, for any reason.'),
    ...countedPageInput,
  }),
  output: z.object({ deliveries: z.array(Delivery), ...countedPageOutput, ...ageOutput }),
  command: {
    path: 'notifications deliveries',
    summary: 'List deliveries, newest first (admin or higher)',
    options: ['type', 'state', 'channel', 'app', 'event_id', 'integration_id', 'from', 'to'],
    table: 'id, TIME=created_at, type, app, channel, TO=destination, state, reason, attempts, MS=duration_ms',
    examples: ['svc notifications deliveries', 'svc notifications deliveries --state failed --json'],
  },
  http: { method: 'get', path: '/api/notifications/deliveries' },
})

/** Of what was to arrive: what still waits for its first attempt, and what somebody chose not to send, is in none of them. */
const outcomeCounts = {
  sent: z.int(),
  failed: z.int(),
  unconfirmed: z.int(),
  retrying: z.int().describe('Not arrived so far; another attempt follows.'),
  not_sent: z.int().describe('Dropped because of the receiver or its address.'),
}

const Failure = z.object({
  delivery_id: z.string(),
  at: Time,
  reason: z.enum(DELIVERY_REASONS).nullable(),
  http_status: z.int().nullable(),
})

/** So many days back the health of an integration looks. */
export const HEALTH_DAYS = 7

const Health = z.object({
  last_24_hours: z.object(outcomeCounts),
  days: z
    .array(z.object({ day: z.iso.date(), sent: z.int(), missed: z.int().describe('All others.') }))
    .describe(
      'Of the last seven days, or as few as were asked for, those on which something was to arrive; UTC.',
    ),
  last_failure: Failure.nullable().describe('The newest of those days that has not arrived.'),
})

const IntegrationHealth = z.object({
  integrations: z.array(
    Health.extend({
      id: z.string(),
      kind: z.enum(INTEGRATION_KINDS),
      name: z.string(),
      state: z.enum(INTEGRATION_STATES),
      subscriptions: z.int(),
      failing_since: Time.nullable(),
      last_success_at: Time.nullable().describe('Null: nothing has ever arrived.'),
      next_attempt_at: Time.nullable().describe('Of the next message that has failed before.'),
    }),
  ),
  members: Health.describe('Emails and direct messages to members.'),
})

/** Of a busy day the newest tell how long deliveries take: ten of so many are slower than what is shown. */
export const DELIVERIES_TIMED = 200

export const summarizeDeliveries = reading({
  ...ledger,
  name: 'summarizeDeliveries',
  mayBeOld: true,
  summary: 'Summarize deliveries: outcomes per day, the last 24 hours, the oldest one waiting.',
  input: z.object({
    health: z.stringbool().default(false).describe('Whether to tell how each integration is, too.'),
  }),
  output: z.object({
    ...ageOutput,
    days: z.array(
      z.object({ day: z.iso.date(), sent: z.int(), failed: z.int(), dropped: z.int(), open: z.int() }),
    ),
    last_24_hours: z.object({
      ...outcomeCounts,
      p95_ms: z
        .int()
        .nullable()
        .describe(
          `From the event to the receiver’s answer, of the newest ${DELIVERIES_TIMED} that were sent.`,
        ),
    }),
    oldest_waiting_at: Time.nullable(),
    health: IntegrationHealth.optional().describe('As listIntegrationHealth answers it.'),
  }),
  http: { method: 'get', path: '/api/notifications/deliveries/summary' },
})

export const listIntegrationHealth = reading({
  ...ledger,
  name: 'listIntegrationHealth',
  summary: 'List how deliveries to each integration go: the last 24 hours, seven days, and the last failure.',
  input: z.object({
    days: z.coerce
      .number()
      .int()
      .min(2)
      .max(HEALTH_DAYS)
      .default(HEALTH_DAYS)
      .describe(
        'How many days are counted and searched for the last failure. With fewer it takes less time.',
      ),
  }),
  output: IntegrationHealth,
  http: { method: 'get', path: '/api/integrations/health' },
})

export const showDelivery = reading({
  ...ledger,
  name: 'showDelivery',
  summary: 'Show a delivery: what was sent, and every attempt.',
  input: z.object({
    delivery_id: Id('dlv'),
    wait: z.coerce
      .number()
      .int()
      .min(0)
      .max(DELIVERY_WAIT_MAX_SECONDS)
      .default(0)
      .describe('Seconds: answer only when another attempt has ended, or after so long.'),
    attempts: z.coerce
      .number()
      .int()
      .min(0)
      .max(100)
      .default(0)
      .describe('With `wait`: ended attempts that are known already.'),
  }),
  output: Delivery.extend({
    integration_id: z.string().nullable(),
    timing: TimingName.nullable(),
    notification: ThinNotification,
    attempts_made: z.array(Attempt),
    digest_of: z.int().describe('How many deliveries the same message carried.'),
  }),
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  command: {
    path: 'notifications show',
    summary: 'Show a delivery and its attempts (admin or higher)',
    options: [],
    fields: 'id, type, subject, app, channel, to=destination, state, reason, replay_of, next_attempt_at',
    examples: ['svc notifications show dlv_0mwhkcyh5nlh1pqqssy5gj19q --json'],
  },
  http: { method: 'get', path: '/api/notifications/deliveries/{delivery_id}' },
})

export const replayDelivery = creating({
  ...ledger,
  takesIdempotencyKey: true,
  name: 'replayDelivery',
  summary: 'Replay a delivery under a new id. It may arrive a second time.',
  input: z.object({ delivery_id: Id('dlv') }),
  output: z.object({ id: z.string(), replay_of: z.string() }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: {
    path: 'notifications replay',
    summary: 'Send a delivery again with a new ID; it may arrive twice (admin or higher)',
    confirm: 'This sends {delivery_id} again; it may arrive twice.',
    fields: 'id, replay_of',
    examples: ['svc notifications replay dlv_0mwhkcyh5nlh1pqqssy5gj19q --yes'],
  },
  http: { method: 'post', path: '/api/notifications/deliveries/{delivery_id}/replay', success: 201 },
})

export const retryDelivery = updating({
  ...ledger,
  name: 'retryDelivery',
  summary:
    'Make the next attempt of a delivery that is in progress now. What has been sent is replayed instead.',
  input: z.object({ delivery_id: Id('dlv') }),
  output: z.object({
    id: z.string(),
    next_attempt_at: Time.describe('Later than now only if the receiver asked us to wait (Retry-After).'),
  }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: {
    path: 'notifications retry',
    summary: 'Make the next attempt of a delivery in progress now (admin or higher)',
    fields: 'id, next_attempt_at',
    examples: ['svc notifications retry dlv_0mwhkcyh5nlh1pqqssy5gj19q'],
  },
  http: { method: 'post', path: '/api/notifications/deliveries/{delivery_id}/retry' },
})

export const REPLAYS_MAX = 1_000

const MAY_ARRIVE_TWICE = 'These may already have arrived and could arrive twice.'

export const replayFailedDeliveries = creating({
  ...ledger,
  takesIdempotencyKey: true,
  name: 'replayFailedDeliveries',
  summary:
    'Replay deliveries of a time range that failed or were dropped while the integration was stopped or off, at most 1,000. Unconfirmed ones may arrive twice.',
  input: z.object({
    from: field(z.iso.datetime(), { label: 'From (UTC)' }),
    to: field(z.iso.datetime().optional(), { label: 'To (UTC)', hint: 'Defaults to now.' }),
    integration_id: field(Id('int').optional(), { label: 'Destination' }),
    include_unconfirmed: field(z.boolean().default(false), { hint: MAY_ARRIVE_TWICE }),
  }),
  output: z.object({ replayed: z.int(), more: z.boolean() }),
  http: { method: 'post', path: '/api/notifications/deliveries/replay' },
})

const integrationId = { integration_id: Id('int') }

export const recoverDeliveries = creating({
  ...ledger,
  takesIdempotencyKey: true,
  name: 'recoverDeliveries',
  summary:
    'Send again what an integration missed since a time: failed, given up and unconfirmed deliveries, and what was dropped while it was off.',
  input: z.object({
    ...integrationId,
    since: field(z.iso.datetime(), {
      label: 'Since (UTC)',
      client: { summary: START_TIME, missing: { hint: 'Add --since, such as --since 2026-11-15' } },
    }),
    include_unconfirmed: field(
      z.boolean().default(true).describe('They may have arrived, and may arrive twice.'),
      {
        hint: MAY_ARRIVE_TWICE,
        client: { not: { flag: 'skip-unconfirmed', summary: 'Leave out what may have arrived' } },
      },
    ),
  }),
  output: Recovery,
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: {
    path: 'notifications recover',
    summary: 'Send again what an integration missed since a time (admin or higher)',
    fields: 'id, state, since',
    notes: ['Follow the deliveries with: svc notifications deliveries --integration {integration_id}'],
    examples: ['svc notifications recover int_0mwhkcyh5nlh1pqqssy5gj19q --since 2026-11-15 --yes'],
  },
  http: { method: 'post', path: '/api/integrations/{integration_id}/recoveries', success: 201 },
})

export const RECOVERIES_SHOWN = 20

export const listRecoveries = reading({
  ...ledger,
  name: 'listRecoveries',
  summary: 'List the last recoveries of an integration, newest first, and how far each is.',
  input: z.object(integrationId),
  output: z.object({ recoveries: z.array(Recovery) }),
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: '/api/integrations/{integration_id}/recoveries' },
})
