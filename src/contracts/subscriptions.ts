/** Who is told of what: subscriptions of the organization, e-mails to a person, and what a person follows of an app. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { CHANNELS, SEND_REASONS } from './deliveries.ts'
import { CategoryName, EventPattern, TimingName } from './events.ts'
import { Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { DISABLED_REASONS } from './integrations.ts'
import { operation } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'

const shared = {
  id: z.string(),
  pattern: z.string(),
  timing: TimingName,
  enabled: z.boolean(),
  disabled_reason: z.enum(DISABLED_REASONS).nullable(),
  is_default: z.boolean().describe('Made by the platform; deleted, it never comes back.'),
  last_delivery_at: Time.nullable(),
  created_at: Time,
}

const Subscription = z.object({
  ...shared,
  channel: z.enum(CHANNELS),
  integration: z.object({ id: z.string(), name: z.string() }),
  created_by: z.string().nullable().describe('The person’s id; null for defaults.'),
})

const subscriptions = {
  service: 'api-gateway',
  scope: null,
  who: 'admin',
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
} as const
const reads = { readOnly: true, destructive: false, idempotent: true } as const
const writes = { readOnly: false, destructive: false, idempotent: false } as const
const subscriptionId = { subscription_id: Id('sub') }

export const listSubscriptions = operation({
  ...subscriptions,
  ...reads,
  name: 'subscriptions.list',
  summary: 'List the organization’s subscriptions, newest first.',
  input: z.object({
    pattern: z.string().trim().max(100).optional().describe('Only patterns that contain this.'),
    integration_id: Id('int').optional(),
    enabled: z.stringbool().optional(),
    ...pageInput,
  }),
  output: z.object({ subscriptions: z.array(Subscription), ...pageOutput }),
  http: { method: 'get', path: '/api/notifications/subscriptions' },
})

export const createSubscription = operation({
  ...subscriptions,
  ...writes,
  takesIdempotencyKey: true,
  name: 'subscriptions.create',
  summary: 'Subscribe a connection to an event type or a prefix and a star.',
  input: z.object({
    pattern: EventPattern,
    integration_id: Id('int'),
    timing: TimingName.default('immediately'),
  }),
  output: Subscription.extend({
    notes: z.array(z.string()).describe('For instance that no event of this type is defined.'),
  }),
  errors: [...subscriptions.errors, 'NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: '/api/notifications/subscriptions', success: 201 },
})

export const updateSubscription = operation({
  ...subscriptions,
  ...writes,
  idempotent: true,
  name: 'subscriptions.update',
  summary: 'Change the pattern or timing of a subscription, pause it or let it go on.',
  input: z.object({
    ...subscriptionId,
    pattern: EventPattern.optional(),
    timing: TimingName.optional(),
    enabled: z.boolean().optional(),
  }),
  output: Subscription,
  errors: [...subscriptions.errors, 'NOT_FOUND', 'CONFLICT'],
  http: { method: 'patch', path: '/api/notifications/subscriptions/{subscription_id}' },
})

export const deleteSubscription = operation({
  ...subscriptions,
  ...writes,
  destructive: true,
  idempotent: true,
  name: 'subscriptions.delete',
  summary: 'Delete a subscription. A default that was deleted never comes back.',
  input: z.object(subscriptionId),
  output: Nothing,
  errors: [...subscriptions.errors, 'NOT_FOUND'],
  http: { method: 'delete', path: '/api/notifications/subscriptions/{subscription_id}', success: 204 },
})

export const testSubscription = operation({
  ...subscriptions,
  ...writes,
  name: 'subscriptions.test',
  summary: 'Send a test event through this subscription alone.',
  input: z.object(subscriptionId),
  output: z.object({ event_id: z.string() }),
  errors: [...subscriptions.errors, 'NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: '/api/notifications/subscriptions/{subscription_id}/test', success: 201 },
})

export const previewPattern = operation({
  ...subscriptions,
  ...reads,
  name: 'subscriptions.preview',
  summary: 'What a pattern matches: event types there are, and events of the last seven days.',
  input: z.object({ pattern: EventPattern }),
  output: z.object({
    types: z.array(z.object({ type: z.string(), when: z.string(), events: z.int() })),
    events: z.int().describe('In the last seven days.'),
    is_known: z.boolean().describe('False: no event of this type is defined.'),
  }),
  http: { method: 'get', path: '/api/notifications/preview' },
})

const personal = { service: 'api-gateway', who: 'viewer', errors: subscriptions.errors } as const

export const listMySubscriptions = operation({
  ...personal,
  ...reads,
  scope: 'notifications:read',
  name: 'subscriptions.listMine',
  summary: 'List the e-mails you get from this organization.',
  input: z.object({ ...pageInput }),
  output: z.object({ subscriptions: z.array(z.object(shared)), ...pageOutput }),
  http: { method: 'get', path: '/api/notifications/my-subscriptions' },
})

export const switchMySubscription = operation({
  ...personal,
  ...writes,
  idempotent: true,
  scope: 'notifications:write',
  name: 'subscriptions.switchMine',
  summary: 'Switch one of your own e-mails off or on.',
  input: z.object({ ...subscriptionId, enabled: z.boolean() }),
  output: z.object(shared),
  errors: [...subscriptions.errors, 'NOT_FOUND'],
  http: { method: 'put', path: '/api/notifications/my-subscriptions/{subscription_id}' },
})

const Token = z.string().min(1).max(300)

export const showUnsubscribe = operation({
  service: 'api-gateway',
  name: 'unsubscribe.show',
  summary: 'What a link at the foot of a mail would switch off; changes nothing.',
  input: z.object({ token: Token }),
  output: z.object({
    pattern: z
      .string()
      .nullable()
      .describe('Null: the link is not one of ours, or its subscription is gone.'),
    organization: z.string().nullable(),
    enabled: z.boolean(),
  }),
  who: 'anyone',
  scope: null,
  ...reads,
  errors: ['INVALID_REQUEST'],
  http: { method: 'get', path: '/api/notifications/unsubscribe' },
})

export const unsubscribe = operation({
  service: 'api-gateway',
  name: 'unsubscribe.confirm',
  summary:
    'Switch off for good the one subscription that produced a mail. A forged token changes nothing and says so to nobody.',
  input: z.object({ token: Token }),
  output: Nothing,
  who: 'anyone',
  scope: null,
  ...writes,
  idempotent: true,
  errors: ['INVALID_REQUEST'],
  http: { method: 'post', path: '/api/notifications/unsubscribe', success: 204 },
})

const FOLLOW_OUTCOMES = ['delivered', 'retrying', 'not_sent'] as const

const Follow = z.object({
  app: z.string().describe('The alias.'),
  name: z.string(),
  categories: z.array(CategoryName),
  frequency: TimingName,
  last: z
    .object({
      outcome: z.enum(FOLLOW_OUTCOMES),
      reason: z.enum(SEND_REASONS).nullable(),
      at: Time,
      next_attempt_at: Time.nullable(),
    })
    .nullable()
    .describe('How the last message about it fared.'),
})

export const listFollows = operation({
  ...personal,
  ...reads,
  scope: 'notifications:read',
  name: 'follows.list',
  summary: 'List the apps you may follow, what you follow of each, and how the last message fared.',
  input: z.object({
    following: z.stringbool().default(false).describe('Only those you follow.'),
    ...pageInput,
  }),
  output: z.object({
    follows: z.array(Follow),
    next_daily_at: Time.describe('When the next daily message would go out.'),
    ...pageOutput,
  }),
  http: { method: 'get', path: '/api/notifications/follows' },
})

export const setFollow = operation({
  ...personal,
  ...writes,
  idempotent: true,
  scope: 'notifications:write',
  name: 'follows.set',
  summary: 'Replace what you follow of one app; no categories means not following.',
  input: z.object({
    ...appAlias,
    categories: z.array(CategoryName).max(4),
    frequency: TimingName.default('immediately'),
  }),
  output: Follow,
  errors: [...subscriptions.errors, 'NOT_FOUND'],
  http: { method: 'put', path: '/api/notifications/follows/{alias}' },
})
