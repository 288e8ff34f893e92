/**
 * From an event to the messages about it. `outbox` is written in the producer's transaction; everything behind it is the
 * notification core's own. The rows of the ledger are the rows of the queue, so nothing can be in one and not in the other.
 */
import type { CHANNELS, DELIVERY_STATES, SEND_REASONS } from '../../src/contracts/deliveries.ts'
import type { CATEGORIES, TIMINGS } from '../../src/contracts/events.ts'
import type {
  DISABLED_REASONS,
  INTEGRATION_KINDS,
  INTEGRATION_STATES,
} from '../../src/contracts/integrations.ts'
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

/** What an event is, in both tables. Identifiers and codes only: no title, no body, no name. */
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
  occurredAt: instant('occurred_at').notNull(),
})

export const outbox = pgTable(
  'outbox',
  {
    ...eventColumns(),
    /** Given by the database, after the producer's locks: what happened later to one subject has the greater one. */
    seq: bigint('seq', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.id] }), index('outbox_in_order').on(t.seq)],
)

export const events = pgTable(
  'events',
  {
    ...eventColumns(),
    /** Of the outbox: the order in which it happened. */
    seq: bigint('seq', { mode: 'number' }).notNull(),
    recordedAt: instant('recorded_at').notNull(),
    fannedOutAt: instant('fanned_out_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('events_once').on(t.orgId, t.source, t.dedupKey),
    index('events_to_fan_out')
      .on(t.seq)
      .where(sql`${t.fannedOutAt} is null`),
    index('events_of_subject_to_fan_out')
      .on(t.orgId, t.subject, t.seq)
      .where(sql`${t.fannedOutAt} is null`),
    index('events_by_type').on(t.orgId, t.type, t.occurredAt),
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
    kind: text('kind').$type<(typeof INTEGRATION_KINDS)[number]>().notNull(),
    name: text('name').notNull(),
    state: text('state').$type<(typeof INTEGRATION_STATES)[number]>().notNull(),
    /** What may be shown: channel, team, category, the masked address. */
    config: jsonb('config').$type<Record<string, string | number | boolean>>().notNull(),
    /** Address, bot token or API key, sealed under DATA_KEY. */
    sealed: text('sealed').notNull(),
    /** Keyed digest of the address: the same one pasted again is found without opening any. */
    digest: text('digest').notNull(),
    teamId: text('team_id'),
    /** Since when every send to it failed; null after a success. */
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

export const subscriptions = pgTable(
  'subscriptions',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    /** Null: it belongs to the organization and carries no person. */
    userId: text('user_id'),
    /** Null: by e-mail to the person. */
    integrationId: text('integration_id'),
    pattern: text('pattern').notNull(),
    timing: text('timing').$type<(typeof TIMINGS)[number]>().notNull(),
    /** Only events that concern this person and that somebody else caused (replies to one's own tickets). */
    ownOnly: boolean('own_only').notNull().default(false),
    enabled: boolean('enabled').notNull(),
    disabledReason: text('disabled_reason').$type<(typeof DISABLED_REASONS)[number]>(),
    seedKey: text('seed_key'),
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

/** Never deleted: a default that somebody took away does not come back. */
export const defaultSeeds = pgTable(
  'default_seeds',
  {
    orgId: orgId(),
    seedKey: text('seed_key').notNull(),
    subscriptionId: text('subscription_id').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.seedKey] })],
)

export const personalFollows = pgTable(
  'personal_follows',
  {
    orgId: orgId(),
    userId: text('user_id').notNull(),
    appId: text('app_id').notNull(),
    categories: text('categories').array().$type<(typeof CATEGORIES)[number][]>().notNull(),
    frequency: text('frequency').$type<(typeof TIMINGS)[number]>().notNull(),
    changedAt: instant('changed_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.userId, t.appId] }),
    index('personal_follows_by_app').on(t.orgId, t.appId),
  ],
)

/** A chat account belongs to one person, who may link it in several organizations. */
export const chatAccounts = pgTable(
  'chat_accounts',
  {
    teamId: text('team_id').notNull(),
    chatUserId: text('chat_user_id').notNull(),
    userId: text('user_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.teamId, t.chatUserId] })],
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
    /** Found deactivated at the chat service; linking again mends it. */
    inactiveAt: instant('inactive_at'),
    linkedAt: instant('linked_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.userId] })],
)

/** A walk to the chat service and back: started by this person for this organization, good once. */
export const chatAttempts = pgTable(
  'chat_attempts',
  {
    stateHash: text('state_hash').primaryKey(),
    orgId: orgId(),
    userId: text('user_id').notNull(),
    purpose: text('purpose').$type<'install' | 'link'>().notNull(),
    nonce: text('nonce').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [index('chat_attempts_by_expiry').on(t.expiresAt)],
)

/** One event for one subscription or one follower; with neither, an event that matched nobody. */
export const deliveries = pgTable(
  'deliveries',
  {
    orgId: orgId(),
    /** The notification id: the same on every attempt, so a receiver can tell a repetition. */
    id: text('id').notNull(),
    eventId: text('event_id').notNull(),
    /** Beside the event, because the ledger is filtered by them. */
    type: text('type').notNull(),
    appId: text('app_id'),
    subscriptionId: text('subscription_id'),
    integrationId: text('integration_id'),
    userId: text('user_id'),
    channel: text('channel').$type<(typeof CHANNELS)[number]>(),
    sendId: text('send_id'),
    state: text('state').$type<(typeof DELIVERY_STATES)[number]>().notNull(),
    reason: text('reason').$type<(typeof SEND_REASONS)[number]>(),
    /** Somebody pressed Replay: this one may arrive although the other did. */
    replayOf: text('replay_of'),
    createdAt: instant('created_at').notNull(),
    settledAt: instant('settled_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('deliveries_once_per_subscription')
      .on(t.orgId, t.eventId, t.subscriptionId)
      .where(sql`${t.replayOf} is null and ${t.subscriptionId} is not null`),
    uniqueIndex('deliveries_once_per_follower')
      .on(t.orgId, t.eventId, t.userId)
      .where(sql`${t.replayOf} is null and ${t.subscriptionId} is null and ${t.userId} is not null`),
    index('deliveries_by_send').on(t.orgId, t.sendId),
    index('deliveries_by_user').on(t.orgId, t.userId, t.id),
    index('deliveries_by_subscription').on(t.orgId, t.subscriptionId, t.id),
    index('deliveries_by_replay')
      .on(t.orgId, t.replayOf)
      .where(sql`${t.replayOf} is not null`),
  ],
)

/**
 * One message on the wire, for one delivery or for all of a digest.
 * open (a digest that still fills) -> pending -> claimed (leased, safe to claim again) -> sending (its attempt is
 * committed before the first byte) -> sent | failed | dropped; a recorded refusal leads back to pending.
 */
export const sends = pgTable(
  'sends',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    channel: text('channel').$type<(typeof CHANNELS)[number]>().notNull(),
    subscriptionId: text('subscription_id'),
    integrationId: text('integration_id'),
    userId: text('user_id'),
    /** Where it goes: limits per second and the order of one subject hold within it. */
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
    nextAt: instant('next_at').notNull(),
    /** The target was busy: its turn was given to it, so when the time comes nobody is asked again. */
    slotAt: instant('slot_at'),
    leaseUntil: instant('lease_until'),
    worker: text('worker'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('sends_one_digest_per_window')
      .on(t.orgId, t.digestKey, t.windowEnd)
      .where(sql`${t.digestKey} is not null`),
    index('sends_due')
      .on(t.nextAt)
      .where(sql`${t.state} in ('open', 'pending')`),
    index('sends_due_by_organization')
      .on(t.orgId, t.nextAt)
      .where(sql`${t.state} in ('open', 'pending')`),
    index('sends_leased')
      .on(t.leaseUntil)
      .where(sql`${t.state} in ('claimed', 'sending')`),
    index('sends_in_order')
      .on(t.orgId, t.target, t.orderingKey, t.seq)
      .where(sql`${t.state} in ('pending', 'claimed', 'sending')`),
  ],
)

/** When the next message may go to a target; turns that were given away already are counted in. */
export const sendTargets = pgTable(
  'send_targets',
  {
    orgId: orgId(),
    target: text('target').notNull(),
    nextAllowedAt: instant('next_allowed_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.target] })],
)

/** The row is committed before the first byte leaves; one without an outcome is never tried again by itself. */
export const attempts = pgTable(
  'attempts',
  {
    orgId: orgId(),
    sendId: text('send_id').notNull(),
    number: integer('number').notNull(),
    startedAt: instant('started_at').notNull(),
    endedAt: instant('ended_at'),
    outcome: text('outcome').$type<'sent' | 'failed' | 'dropped'>(),
    reason: text('reason').$type<(typeof SEND_REASONS)[number]>(),
    httpStatus: integer('http_status'),
    durationMs: integer('duration_ms'),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.sendId, t.number] })],
)

/** Addresses that a mail server refused for good, by keyed digest. */
export const suppressions = pgTable('suppressions', {
  emailDigest: text('email_digest').primaryKey(),
  reason: text('reason').$type<'bounce'>().notNull(),
  createdAt: instant('created_at').notNull(),
})
