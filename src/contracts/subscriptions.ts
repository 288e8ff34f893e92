/** Who is notified of what: the organization's subscriptions, a person's own emails, and the apps a person follows. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { CHANNEL_NAMES } from './channels.ts'
import { byIntegration, DELIVERY_REASONS } from './deliveries.ts'
import { CategoryName, EventPattern, TimingName } from './events.ts'
import { field } from './field.ts'
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

const Pattern = field(EventPattern, {
  label: 'Event type',
  hint: 'An exact type such as `deploy.failed`, or a prefix with a wildcard such as `application.check.*`.',
  example: 'application.check.*',
  client: 'Event type, or a prefix and a star: deploy.*',
})

const subscriptions = {
  service: 'api-gateway',
  access: 'admin',
} as const
const subscriptionId = { subscription_id: Id('sub') }

const TIMING =
  'Hourly on the hour, daily at 09:00 in the time zone of the organization. Several events are combined into one message. A forum takes Immediately only.'

const SUBSCRIPTION_TABLE =
  'id, pattern, integration.name, timing, enabled, REASON=disabled_reason, last_delivery_at'

export const listSubscriptions = reading({
  ...subscriptions,
  name: 'listSubscriptions',
  summary: 'List the organization’s subscriptions, newest first.',
  input: z.object({
    pattern: field(z.string().trim().max(100).optional().describe('Only patterns that contain this text.'), {
      client: 'Filter by text in the pattern',
    }),
    integration_id: byIntegration,
    enabled: z.stringbool().optional(),
    ...countedPageInput,
  }),
  output: z.object({ subscriptions: z.array(Subscription), ...countedPageOutput }),
  command: {
    path: 'notifications subscriptions',
    summary: 'List subscriptions of the organization (admin or higher)',
    options: ['pattern', 'integration_id'],
    table: SUBSCRIPTION_TABLE,
    examples: ['svc notifications subscriptions', 'svc notifications subscriptions --pattern deploy --json'],
  },
  http: { method: 'get', path: '/api/notifications/subscriptions' },
})

export const createSubscription = creating({
  ...subscriptions,
  takesIdempotencyKey: true,
  name: 'createSubscription',
  summary: 'Subscribe an integration to an event type, or to a prefix and a star.',
  input: z.object({
    pattern: Pattern,
    integration_id: field(Id('int'), { label: 'Destination' }),
    timing: field(TimingName.default('immediately'), { hint: TIMING, client: 'When to deliver' }),
  }),
  output: Subscription.extend({
    notes: z.array(z.string()).describe('Warnings, such as an event type that is not defined.'),
  }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: {
    path: 'notifications subscribe',
    summary: 'Subscribe an integration to events (admin or higher)',
    arguments: ['integration_id', 'pattern'],
    table: SUBSCRIPTION_TABLE,
    notes: [{ of: 'notes', text: '' }],
    listedBy: 'notifications integrations',
    examples: ['svc notifications subscribe int_0mwhkcyh5nlh1pqqssy5gj19q deploy.failed --timing daily'],
  },
  http: { method: 'post', path: '/api/notifications/subscriptions', success: 201 },
})

export const updateSubscription = updating({
  ...subscriptions,
  name: 'updateSubscription',
  summary: 'Change a subscription’s pattern or timing, pause it or resume it.',
  input: z.object({
    ...subscriptionId,
    pattern: Pattern.optional(),
    timing: field(TimingName.optional(), { hint: TIMING }),
    enabled: z.boolean().optional(),
  }),
  output: Subscription,
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: [
    {
      path: 'notifications pause',
      summary: 'Pause a subscription (admin or higher)',
      always: { enabled: false },
      table: SUBSCRIPTION_TABLE,
      examples: ['svc notifications pause sub_0mwhkcyh5nlh1pqqssy5gj19q'],
    },
    {
      path: 'notifications resume',
      summary: 'Resume a subscription (admin or higher)',
      always: { enabled: true },
      table: SUBSCRIPTION_TABLE,
      examples: ['svc notifications resume sub_0mwhkcyh5nlh1pqqssy5gj19q'],
    },
  ],
  http: { method: 'patch', path: '/api/notifications/subscriptions/{subscription_id}' },
})

export const deleteSubscription = removing({
  ...subscriptions,
  name: 'deleteSubscription',
  summary: 'Delete a subscription. A deleted default is not created again.',
  input: z.object(subscriptionId),
  output: Nothing,
  errors: ['NOT_FOUND'],
  command: {
    path: 'notifications unsubscribe',
    summary: 'Delete a subscription; defaults are not created again (admin or higher)',
    confirm: 'This deletes subscription {subscription_id}. A default subscription is not created again.',
    done: 'Deleted {subscription_id}',
    examples: ['svc notifications unsubscribe sub_0mwhkcyh5nlh1pqqssy5gj19q --yes'],
  },
  http: { method: 'delete', path: '/api/notifications/subscriptions/{subscription_id}', success: 204 },
})

export const testSubscription = creating({
  ...subscriptions,
  name: 'testSubscription',
  summary: 'Send a test event to this subscription.',
  input: z.object(subscriptionId),
  output: z.object({ event_id: z.string() }),
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  command: {
    path: 'notifications test',
    summary: 'Send a test event to a subscription (admin or higher)',
    fields: 'event=event_id',
    notes: ['Check the delivery with: svc notifications deliveries --event {event_id}'],
    examples: ['svc notifications test sub_0mwhkcyh5nlh1pqqssy5gj19q'],
  },
  http: { method: 'post', path: '/api/notifications/subscriptions/{subscription_id}/test', success: 201 },
})

export const previewEventPattern = reading({
  ...subscriptions,
  name: 'previewEventPattern',
  summary: 'Preview what a pattern matches: event types, and events of the last seven days.',
  input: z.object({ pattern: Pattern }),
  output: z.object({
    types: z.array(z.object({ type: z.string(), when: z.string(), events: z.int() })),
    events: z.int().describe('In the last seven days.'),
    is_known: z.boolean().describe('False: no event of this type is defined.'),
  }),
  command: {
    path: 'notifications preview',
    summary: 'Show the event types a pattern matches, with counts for the last 7 days (admin or higher)',
    arguments: ['pattern'],
    table: 'type, LAST 7 DAYS=events, when',
    rows: 'types',
    notes: [{ if: '!is_known', text: 'No such event type is defined' }],
    examples: ['svc notifications preview application.check.*'],
  },
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

const FOLLOW_TABLE =
  'app, name, categories:list, frequency:frequency, LAST DELIVERY=last.outcome, REASON=last.reason, TIME=last.at'

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
  command: {
    path: 'notifications follows',
    summary: 'List apps you can follow, your settings, and the last delivery',
    table: FOLLOW_TABLE,
    examples: ['svc notifications follows', 'svc notifications follows --following --json'],
  },
  http: { method: 'get', path: '/api/notifications/follows' },
})

export const setFollow = updating({
  ...personal,
  scope: 'notifications:write',
  name: 'setFollow',
  summary: 'Set what you follow of an app; no categories unfollows it.',
  input: z.object({
    alias: field(appAlias.alias, {
      client: { flag: 'app', summary: 'Alias, from `svc notifications follows`' },
    }),
    categories: field(z.array(CategoryName).max(4), {
      client: {
        summary: 'Category to follow',
        not: { flag: 'stop', summary: 'Unfollow the app' },
        missing: {
          problem: 'Nothing to follow',
          hint: 'Add --category for everything you want to follow, or --stop',
        },
      },
    }),
    frequency: field(TimingName.default('immediately'), { client: 'How often' }),
  }),
  output: Follow,
  errors: ['NOT_FOUND'],
  command: {
    path: 'notifications follow',
    summary: 'Set what you follow of an app you build, maintain or administer',
    table: FOLLOW_TABLE,
    examples: [
      'svc notifications follow billing --category Tickets --category "Failed deploys" --frequency daily',
      'svc notifications follow billing --stop',
    ],
  },
  http: { method: 'put', path: '/api/notifications/follows/{alias}' },
})
