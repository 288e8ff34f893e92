/** Who is notified of what: the organization's subscriptions, a person's own emails, and the apps a person follows. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { CHANNEL_NAMES } from './channels.ts'
import { DELIVERY_REASONS } from './deliveries.ts'
import { CategoryName, EventPattern, TimingName } from './events.ts'
import { Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { DISABLED_REASONS } from './integrations.ts'
import { creating, reading, removing, updating } from './operation.ts'
import { countedPageInput, countedPageOutput, pageInput, pageOutput } from './paging.ts'

const shared = {
  id: z.string(),
  pattern: z.string(),
  timing: TimingName,
  enabled: z.boolean(),
  disabled_reason: z.enum(DISABLED_REASONS).nullable(),
  is_default: z.boolean().describe('Created by the platform; once deleted it is not created again.'),
  last_delivery_at: Time.nullable(),
  created_at: Time,
}

const Subscription = z.object({
  ...shared,
  channel: z.enum(CHANNEL_NAMES),
  integration: z.object({ id: z.string(), name: z.string() }),
  created_by: z.string().nullable().describe('A user id; null for defaults.'),
})

const subscriptions = {
  service: 'api-gateway',
  access: 'admin',
} as const
const subscriptionId = { subscription_id: Id('sub') }

export const listSubscriptions = reading({
  ...subscriptions,
  name: 'listSubscriptions',
  summary: 'List the organization’s subscriptions, newest first.',
  input: z.object({
    pattern: z.string().trim().max(100).optional().describe('Only patterns that contain this text.'),
    integration_id: Id('int').optional(),
    enabled: z.stringbool().optional(),
    ...countedPageInput,
  }),
  output: z.object({ subscriptions: z.array(Subscription), ...countedPageOutput }),
  http: { method: 'get', path: '/api/notifications/subscriptions' },
})

export const createSubscription = creating({
  ...subscriptions,
  takesIdempotencyKey: true,
  name: 'createSubscription',
  summary: 'Subscribe an integration to an event type, or to a prefix and a star.',
  input: z.object({
    pattern: EventPattern,
    integration_id: Id('int'),
    timing: TimingName.default('immediately'),
  }),
  output: Subscription.extend({
    notes: z.array(z.string()).describe('Warnings, such as an event type that is not defined.'),
  }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: '/api/notifications/subscriptions', success: 201 },
})

export const updateSubscription = updating({
  ...subscriptions,
  name: 'updateSubscription',
  summary: 'Change a subscription’s pattern or timing, pause it or resume it.',
  input: z.object({
    ...subscriptionId,
    pattern: EventPattern.optional(),
    timing: TimingName.optional(),
    enabled: z.boolean().optional(),
  }),
  output: Subscription,
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'patch', path: '/api/notifications/subscriptions/{subscription_id}' },
})

export const deleteSubscription = removing({
  ...subscriptions,
  name: 'deleteSubscription',
  summary: 'Delete a subscription. A deleted default is not created again.',
  input: z.object(subscriptionId),
  output: Nothing,
  errors: ['NOT_FOUND'],
  http: { method: 'delete', path: '/api/notifications/subscriptions/{subscription_id}', success: 204 },
})

export const testSubscription = creating({
  ...subscriptions,
  name: 'testSubscription',
  summary: 'Send a test event to this subscription.',
  input: z.object(subscriptionId),
  output: z.object({ event_id: z.string() }),
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  http: { method: 'post', path: '/api/notifications/subscriptions/{subscription_id}/test', success: 201 },
})

export const previewEventPattern = reading({
  ...subscriptions,
  name: 'previewEventPattern',
  summary: 'Preview what a pattern matches: event types, and events of the last seven days.',
  input: z.object({ pattern: EventPattern }),
  output: z.object({
    types: z.array(z.object({ type: z.string(), when: z.string(), events: z.int() })),
    events: z.int().describe('In the last seven days.'),
    is_known: z.boolean().describe('False: no event of this type is defined.'),
  }),
  http: { method: 'get', path: '/api/notifications/preview' },
})

const personal = { service: 'api-gateway', access: 'viewer' } as const

export const listMySubscriptions = reading({
  ...personal,
  scope: 'notifications:read',
  name: 'listMySubscriptions',
  summary: 'List your email subscriptions in this organization.',
  input: z.object({ ...pageInput }),
  output: z.object({ subscriptions: z.array(z.object(shared)), ...pageOutput }),
  http: { method: 'get', path: '/api/notifications/my-subscriptions' },
})

export const updateMySubscription = updating({
  ...personal,
  scope: 'notifications:write',
  name: 'updateMySubscription',
  summary: 'Turn one of your email subscriptions off or on.',
  input: z.object({ ...subscriptionId, enabled: z.boolean() }),
  output: z.object(shared),
  errors: ['NOT_FOUND'],
  http: { method: 'put', path: '/api/notifications/my-subscriptions/{subscription_id}' },
})

const Token = z.string().min(1).max(300)

export const showUnsubscribe = reading({
  service: 'api-gateway',
  name: 'showUnsubscribe',
  summary: 'Show what an unsubscribe link would turn off; changes nothing.',
  input: z.object({ token: Token }),
  output: z.object({
    pattern: z.string().nullable().describe('Null: the link is invalid, or its subscription is gone.'),
    organization: z.string().nullable(),
    enabled: z.boolean(),
  }),
  access: 'anyone',
  http: { method: 'get', path: '/api/notifications/unsubscribe' },
})

export const unsubscribe = updating({
  service: 'api-gateway',
  name: 'unsubscribe',
  summary:
    'Unsubscribe by the link in a mail. An invalid token is answered the same way and changes nothing.',
  input: z.object({ token: Token }),
  output: Nothing,
  access: 'anyone',
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
      reason: z.enum(DELIVERY_REASONS).nullable(),
      at: Time,
      next_attempt_at: Time.nullable(),
    })
    .nullable()
    .describe('Outcome of the last delivery about this app.'),
})

export const listFollows = reading({
  ...personal,
  scope: 'notifications:read',
  name: 'listFollows',
  summary: 'List the apps you may follow, what you follow of each, and the last delivery outcome.',
  input: z.object({
    following: z.stringbool().default(false).describe('Only apps you follow.'),
    ...pageInput,
  }),
  output: z.object({
    follows: z.array(Follow),
    next_daily_at: Time.describe('When the next daily digest goes out.'),
    ...pageOutput,
  }),
  http: { method: 'get', path: '/api/notifications/follows' },
})

export const setFollow = updating({
  ...personal,
  scope: 'notifications:write',
  name: 'setFollow',
  summary: 'Set what you follow of an app; no categories unfollows it.',
  input: z.object({
    ...appAlias,
    categories: z.array(CategoryName).max(4),
    frequency: TimingName.default('immediately'),
  }),
  output: Follow,
  errors: ['NOT_FOUND'],
  http: { method: 'put', path: '/api/notifications/follows/{alias}' },
})
