/**
 * Tenant tables of notifications, and two of identity (`chat_accounts`, `email_suppressions`). `outbox` is written in the
 * producer's transaction. The rows of the ledger are the rows of the queue, so nothing can be in one and not in the other.
 * On Postgres `events`, `deliveries`, `messages`, `attempts` and `delivery_keys` have a partition for each month
 * (db/partitions.ts), by the id, which begins with the time: what is to be once over all times lies in tables of keys.
 */
import type {
  Category,
  Channel,
  DeliveryState,
  IntegrationKind,
  Timing,
} from '../../src/contracts/channels.ts'
import type { DeliveryReason, RecoveryState } from '../../src/contracts/deliveries.ts'
import type { DISABLED_REASONS, IntegrationState } from '../../src/contracts/integrations.ts'
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
  uniqueIndex,
} from '../drizzle.ts'
import { instant, orgId } from './columns.ts'

/** What an event is, in both tables. Identifiers and codes only, but for the text of an app: no title, no body, no name. */
const eventColumns = () => ({
  orgId: orgId(),
  id: text('id').notNull(),
  /** Who produced it, and what makes it the same event when it is produced again. */
  source: text('source').notNull(),
  dedupKey: text('dedup_key').notNull(),
  type: text('type').notNull(),
  subject: text('subject').notNull(),
  actorId: text('actor_id'),
  /** The person it concerns, such as the reporter of a ticket. Never sent anywhere. */
  concernsId: text('concerns_id'),
  appId: text('app_id'),
  data: jsonb('data').$type<Record<string, string>>().notNull(),
  /** Of an event that an app sent, masked: for the inbox of its people. Apart from the data, because those are sent. */
  text: text('text'),
  occurredAt: instant('occurred_at').notNull(),
})

export const outbox = pgTable(
  'outbox',
  {
    ...eventColumns(),
    /** Given by the database, after the producer's locks: what happened later to one subject has the greater one. */
    seq: bigint('seq', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.id] }), index('outbox_in_order').on(t.orgId, t.seq)],
)

export const events = pgTable(
  'events',
  {
    ...eventColumns(),
    /** Of the outbox: the order in which it happened. */
    seq: bigint('seq', { mode: 'number' }).notNull(),
    recordedAt: instant('recorded_at').notNull(),
    fannedOutAt: instant('fanned_out_at'),
    /** It could not be fanned out and is tried again then; until it is, newer ones of its subject wait for it. */
    fanOutAgainAt: instant('fan_out_again_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('events_to_fan_out')
      .on(t.orgId, t.seq)
      .where(sql`${t.fannedOutAt} is null`),
    index('events_that_failed_to_fan_out')
      .on(t.orgId, t.subject, t.seq)
      .where(sql`${t.fannedOutAt} is null and ${t.fanOutAgainAt} is not null`),
    index('events_by_type').on(t.orgId, t.type, t.occurredAt),
  ],
)

/** An event is recorded once, however often it is produced: as long as its key is kept. */
export const eventKeys = pgTable(
  'event_keys',
  {
    orgId: orgId(),
    source: text('source').notNull(),
    dedupKey: text('dedup_key').notNull(),
    eventId: text('event_id').notNull(),
    recordedAt: instant('recorded_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.source, t.dedupKey] }),
    index('event_keys_by_time').on(t.recordedAt),
  ],
)

/** One alert per change of state: producers move it by compare-and-set. */
export const alertStates = pgTable(
  'alert_states',
  {
    orgId: orgId(),
    kind: text('kind').notNull(),
    subject: text('subject').notNull(),
    state: text('state').notNull(),
    since: instant('since').notNull(),
    seq: integer('seq').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.kind, t.subject] })],
)

export const integrations = pgTable(
  'integrations',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    kind: text('kind').$type<IntegrationKind>().notNull(),
    name: text('name').notNull(),
    state: text('state').$type<IntegrationState>().notNull(),
    /** What may be shown: channel, workspace, category, the masked address. */
    config: jsonb('config').$type<Record<string, string | number | boolean>>().notNull(),
    /** Address, bot token or API key, sealed under DATA_KEY. */
    sealed: text('sealed').notNull(),
    /** Keyed digest of the address: the same address is found again without unsealing any. */
    digest: text('digest').notNull(),
    teamId: text('team_id'),
    /** Of an email address: when somebody there confirmed it; and the newest link by which they can, as a digest. */
    verifiedAt: instant('verified_at'),
    verificationHash: text('verification_hash'),
    verificationExpiresAt: instant('verification_expires_at'),
    /** Since when every attempt failed; null after a success. */
    failingSince: instant('failing_since'),
    lastSuccessAt: instant('last_success_at'),
    createdAt: instant('created_at').notNull(),
    createdBy: text('created_by'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('integrations_by_digest').on(t.orgId, t.kind, t.digest),
  ],
)

/** What the ledger calls an integration that was removed: its name, and nothing that it was reached with. */
export const removedIntegrations = pgTable(
  'removed_integrations',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    name: text('name').notNull(),
    removedAt: instant('removed_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.id] })],
)

export const subscriptions = pgTable(
  'subscriptions',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    /** Null: it belongs to the organization and carries no person. */
    userId: text('user_id'),
    /** Null: by email to the person. */
    integrationId: text('integration_id'),
    pattern: text('pattern').notNull(),
    timing: text('timing').$type<Timing>().notNull(),
    /** Only events that concern this person and that somebody else caused (replies to one's own tickets). */
    ownOnly: boolean('own_only').notNull().default(false),
    enabled: boolean('enabled').notNull(),
    disabledReason: text('disabled_reason').$type<(typeof DISABLED_REASONS)[number]>(),
    defaultKey: text('default_key'),
    createdAt: instant('created_at').notNull(),
    createdBy: text('created_by'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('subscriptions_by_pattern')
      .on(t.orgId, t.pattern)
      .where(sql`${t.enabled}`),
    index('subscriptions_by_user').on(t.orgId, t.userId),
    index('subscriptions_by_integration').on(t.orgId, t.integrationId),
  ],
)

/** Never deleted: a default subscription that somebody deleted is not created again. */
export const defaultSubscriptions = pgTable(
  'default_subscriptions',
  {
    orgId: orgId(),
    defaultKey: text('default_key').notNull(),
    subscriptionId: text('subscription_id').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.defaultKey] })],
)

export const follows = pgTable(
  'follows',
  {
    orgId: orgId(),
    userId: text('user_id').notNull(),
    appId: text('app_id').notNull(),
    categories: text('categories').array().$type<Category[]>().notNull(),
    frequency: text('frequency').$type<Timing>().notNull(),
    changedAt: instant('changed_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.userId, t.appId] }),
    index('follows_by_app').on(t.orgId, t.appId),
  ],
)

/** Identity: an account at a chat service belongs to one person, in every organization where it is linked. */
export const chatAccounts = pgTable(
  'chat_accounts',
  {
    teamId: text('team_id').notNull(),
    chatUserId: text('chat_user_id').notNull(),
    /** Where it is linked; with the last of these rows the account is free for somebody else. */
    orgId: orgId(),
    userId: text('user_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.teamId, t.chatUserId, t.orgId] })],
)

/** Workspace, user id there, display name. No address, no profile, no token. */
export const chatLinks = pgTable(
  'chat_links',
  {
    orgId: orgId(),
    userId: text('user_id').notNull(),
    teamId: text('team_id').notNull(),
    chatUserId: text('chat_user_id').notNull(),
    displayName: text('display_name').notNull(),
    /** Found deactivated at the chat service; linking again clears it. */
    inactiveAt: instant('inactive_at'),
    linkedAt: instant('linked_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.userId] })],
)

/** An OAuth flow at the chat service: started by this person for this organization, usable once. */
export const chatAuthorizations = pgTable(
  'chat_authorizations',
  {
    orgId: orgId(),
    stateHash: text('state_hash').notNull(),
    userId: text('user_id').notNull(),
    purpose: text('purpose').$type<'install' | 'link'>().notNull(),
    nonce: text('nonce').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.stateHash] }),
    index('chat_authorizations_by_expiry').on(t.expiresAt),
  ],
)

/** One event to one destination, for a subscription or a follower; with neither, an event that matched nobody. */
export const deliveries = pgTable(
  'deliveries',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    eventId: text('event_id').notNull(),
    /** Beside the event, because the ledger is filtered by them. */
    type: text('type').notNull(),
    appId: text('app_id'),
    subscriptionId: text('subscription_id'),
    integrationId: text('integration_id'),
    userId: text('user_id'),
    channel: text('channel').$type<Channel>(),
    messageId: text('message_id'),
    state: text('state').$type<DeliveryState>().notNull(),
    reason: text('reason').$type<DeliveryReason>(),
    /** Somebody replayed that one: this one may arrive although the other did. */
    replayOf: text('replay_of'),
    /** The last time somebody did. */
    replayedAt: instant('replayed_at'),
    createdAt: instant('created_at').notNull(),
    settledAt: instant('settled_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('deliveries_by_message').on(t.orgId, t.messageId),
    index('deliveries_by_subscription').on(t.orgId, t.subscriptionId, t.id),
    // The integration or the person: one has no other.
    index('deliveries_by_destination').on(t.orgId, sql`coalesce(${t.integrationId}, ${t.userId})`, t.id),
  ],
)

/** What deliveries with a destination are counted by; empty: none. By the hour (UTC) in which they were made. */
const countColumns = () => ({
  orgId: orgId(),
  hour: instant('hour').notNull(),
  integrationId: text('integration_id').notNull(),
  state: text('state').$type<DeliveryState>().notNull(),
  reason: text('reason').$type<DeliveryReason | ''>().notNull(),
  n: integer('n').notNull(),
})

/** How many there are: those of older days by the day. Together with what has changed since, below. */
export const deliveryCounts = pgTable('delivery_counts', countColumns(), (t) => [
  primaryKey({ columns: [t.orgId, t.hour, t.integrationId, t.state, t.reason] }),
])

/**
 * By how many they have changed, written by triggers on `deliveries` in the transaction of the change: only added to, so that
 * nobody waits for anybody. The worker folds them into the counts every minute.
 */
export const deliveryCountChanges = pgTable(
  'delivery_count_changes',
  { ...countColumns(), seq: bigint('seq', { mode: 'number' }).notNull().generatedAlwaysAsIdentity() },
  (t) => [primaryKey({ columns: [t.orgId, t.hour, t.seq] })],
)

/** Every delivery by its event; and an event goes once to whoever it is for, unless somebody replays it. */
export const deliveryKeys = pgTable(
  'delivery_keys',
  {
    orgId: orgId(),
    eventId: text('event_id').notNull(),
    /** The integration, the subscription of a person, the follower, or nobody (empty). Of a replay: the delivery itself. */
    recipient: text('recipient').notNull(),
    deliveryId: text('delivery_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.eventId, t.recipient] })],
)

/** Which message a digest fills in a window: one, also where a month ends within it. */
export const digestKeys = pgTable(
  'digest_keys',
  {
    orgId: orgId(),
    digestKey: text('digest_key').notNull(),
    windowEnd: instant('window_end').notNull(),
    messageId: text('message_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.digestKey, t.windowEnd] }),
    index('digest_keys_by_time').on(t.windowEnd),
  ],
)

/**
 * What is sent: one delivery, or a digest of many.
 * open (a digest that still fills) -> pending -> claimed (leased, safe to claim again) -> sending (its attempt is
 * committed before the first byte) -> sent | failed | dropped; a recorded refusal leads back to pending.
 */
export const messages = pgTable(
  'messages',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    channel: text('channel').$type<Channel>().notNull(),
    subscriptionId: text('subscription_id'),
    integrationId: text('integration_id'),
    userId: text('user_id'),
    /** The destination: rate limits and the order of one subject hold within it. */
    target: text('target').notNull(),
    /** The subject, so that "recovered" never overtakes a "failed" that is being retried; null: in no order. */
    orderingKey: text('ordering_key'),
    /** Of the event: older ones of the same subject go first. */
    seq: bigint('seq', { mode: 'number' }).notNull().default(0),
    /** For digests: whose window, and its end. */
    digestKey: text('digest_key'),
    windowEnd: instant('window_end'),
    state: text('state')
      .$type<'open' | 'pending' | 'claimed' | 'sending' | 'sent' | 'failed' | 'dropped'>()
      .notNull(),
    attempts: integer('attempts').notNull().default(0),
    /** Refused together with others, it goes alone from then on: one that the receiver cannot take must not fail them all. */
    goesAlone: boolean('goes_alone').notNull().default(false),
    nextAt: instant('next_at').notNull(),
    /** The target was busy and reserved this time for it, so that it need not ask again. */
    slotAt: instant('slot_at'),
    leaseUntil: instant('lease_until'),
    worker: text('worker'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    // What waits has no lease and comes last, in the order in which it is due; what is held comes by the end of its lease.
    index('messages_active')
      .on(t.leaseUntil, t.nextAt)
      .where(sql`${t.state} in ('open', 'pending', 'claimed', 'sending')`),
    index('messages_due_by_organization')
      .on(t.orgId, t.channel, t.nextAt)
      .where(sql`${t.state} in ('open', 'pending')`),
    index('messages_in_order')
      .on(t.orgId, t.target, t.orderingKey, t.seq)
      .where(sql`${t.state} in ('pending', 'claimed', 'sending')`),
  ],
)

/** What all workers know of a target: when the next message may go, how many are on their way, and whether it answers. */
export const messageTargets = pgTable(
  'message_targets',
  {
    orgId: orgId(),
    target: text('target').notNull(),
    /** After the times that are reserved already. */
    nextAllowedAt: instant('next_allowed_at').notNull(),
    /** POSTs of messages in the state `sending`: changed in the statement that changes the state, so it is exact. */
    inFlight: integer('in_flight').notNull().default(0),
    /** Attempts in a row without any answer. From a few on the circuit is open: one probe at a time, and not before `probeAt`. */
    unanswered: integer('unanswered').notNull().default(0),
    probeAt: instant('probe_at'),
    /** The receiver asked to be left alone until then (Retry-After). */
    heldUntil: instant('held_until'),
    /** False for good once it reset a kept connection under a message: from then on every message has its own. */
    keepsSockets: boolean('keeps_sockets').notNull().default(true),
    /** How long it takes to answer, smoothed over its last few answers; null: it has not answered yet. */
    answerMs: integer('answer_ms'),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.target] })],
)

/** Committed before the first byte leaves; a message with an attempt without an outcome is not sent again by itself. */
export const attempts = pgTable(
  'attempts',
  {
    orgId: orgId(),
    messageId: text('message_id').notNull(),
    number: integer('number').notNull(),
    startedAt: instant('started_at').notNull(),
    endedAt: instant('ended_at'),
    outcome: text('outcome').$type<'sent' | 'failed' | 'dropped'>(),
    reason: text('reason').$type<DeliveryReason>(),
    httpStatus: integer('http_status'),
    durationMs: integer('duration_ms'),
    /** The message in whose POST it went along; null: in its own. One POST holds one place at its target. */
    carriedBy: text('carried_by'),
    /** How the answer begins: masked, for admins, and for a few days only. */
    response: text('response'),
    /** There was an answer, and none of it is kept: it came from a private address. */
    responseWithheld: boolean('response_withheld'),
    /** What was sent along, for as long. */
    requestHeaders: jsonb('request_headers').$type<Readonly<Record<string, string>>>(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.messageId, t.number] }),
    index('attempts_to_clear')
      .on(t.startedAt)
      .where(sql`${t.response} is not null or ${t.requestHeaders} is not null`),
  ],
)

/**
 * Somebody asked to send again what an integration missed since a time. Worked off a little at a time: the next deliveries
 * are queued when few of the last are still open, so what happens meanwhile does not wait behind thousands.
 */
export const recoveries = pgTable(
  'recoveries',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    integrationId: text('integration_id').notNull(),
    /** Deliveries created from then on, and before it was asked. */
    since: instant('since').notNull(),
    includesUnconfirmed: boolean('includes_unconfirmed').notNull(),
    state: text('state').$type<RecoveryState>().notNull(),
    /** The last delivery that was looked at: ids sort by time. */
    cursor: text('cursor').notNull(),
    queued: integer('queued').notNull().default(0),
    nextAt: instant('next_at').notNull(),
    createdAt: instant('created_at').notNull(),
    createdBy: text('created_by'),
    endedAt: instant('ended_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('recoveries_one_at_a_time')
      .on(t.orgId, t.integrationId)
      .where(sql`${t.state} = 'running'`),
    index('recoveries_due')
      .on(t.nextAt)
      .where(sql`${t.state} = 'running'`),
  ],
)

/** Identity: addresses that a mail server rejected permanently, by keyed digest. */
export const emailSuppressions = pgTable('email_suppressions', {
  emailDigest: text('email_digest').primaryKey(),
  reason: text('reason').$type<'bounce'>().notNull(),
  createdAt: instant('created_at').notNull(),
})

/** A person's inbox: one row per person and event. */
export const notifications = pgTable(
  'notifications',
  {
    orgId: orgId(),
    userId: text('user_id').notNull(),
    id: text('id').notNull(),
    /** The same event twice is one row. */
    eventId: text('event_id').notNull(),
    type: text('type').notNull(),
    subject: text('subject').notNull(),
    summary: text('summary').notNull(),
    url: text('url'),
    at: instant('at').notNull(),
    readAt: instant('read_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.userId, t.id] }),
    uniqueIndex('notifications_by_event').on(t.orgId, t.userId, t.eventId),
    index('notifications_unread').on(t.orgId, t.userId, t.readAt),
  ],
)
