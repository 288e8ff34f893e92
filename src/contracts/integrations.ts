/** Integrations: connected email addresses, chat channels, webhooks and a forum. Addresses and keys go in and are never returned. */
import * as z from 'zod'
import { INTEGRATION_KINDS } from './channels.ts'
import { field } from './field.ts'
import { DisplayName, Email, Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { creating, reading, removing, updating } from './operation.ts'
import { rotationInput } from './rotation.ts'

/**
 * `paused`: by an admin, and what comes waits; `unverified`: nobody has confirmed the email address yet, or it was rejected since; `lost`: unknown to the chat service;
 * `gone`: the receiver answered 410; `dead`: failed for days; `off`: by an admin, or because a member left.
 */
export const INTEGRATION_STATES = ['active', 'paused', 'unverified', 'lost', 'gone', 'dead', 'off'] as const
export type IntegrationState = (typeof INTEGRATION_STATES)[number]

/** Only `integration_lost` is ever lifted by the platform, when that integration is connected again. */
export const DISABLED_REASONS = ['paused', 'unsubscribed', 'integration_lost'] as const

export const Integration = z.object({
  id: z.string(),
  kind: z.enum(INTEGRATION_KINDS),
  name: z.string(),
  state: z.enum(INTEGRATION_STATES),
  address: z.string().describe('Masked.'),
  workspace: z.string().nullable().describe('Of an installed chat app.'),
  channel: z.string().nullable(),
  category: z.int().nullable().describe('Of a forum.'),
  resend_on_unknown: z
    .boolean()
    .describe('The receiver deduplicates by id, so a message without an answer is sent again.'),
  subscriptions: z.int(),
  own_secret: z.boolean().describe('Of a webhook: it signs with a whsec_ secret.'),
  previous_secret_until: Time.nullable().describe('Until then the previous key signs beside it.'),
  waiting: z.int().describe('Deliveries that wait while it is paused.'),
  failing_since: Time.nullable(),
  last_success_at: Time.nullable(),
  created_at: Time,
})

const Address = field(z.string().min(1).max(2_048), { label: 'URL' })
const SecretAddress = field(Address, {
  hint: 'Stored encrypted and never shown again. Addresses in private networks are not allowed.',
})
const ForumAddress = field(Address, { label: 'Forum URL', example: 'https://forum.example.com' })

/** `example`: what somebody may call one of this kind. */
const named = (example: string) => field(DisplayName, { hint: `Shown in deliveries, such as “${example}”.` })

const integrations = {
  service: 'api-gateway',
  access: 'admin',
} as const

export const listIntegrations = reading({
  ...integrations,
  name: 'listIntegrations',
  summary: 'List integrations; addresses are masked.',
  input: z.object({}),
  output: z.object({
    integrations: z.array(Integration),
    email: z
      .object({ ready: z.boolean(), from: z.string().nullable() })
      .describe('The installation’s own mail.'),
    chat_install: z.boolean().describe('Whether the operator has configured a chat app.'),
  }),
  command: {
    path: 'notifications integrations',
    summary: 'List integrations: email addresses, chat channels, webhooks and forums (admin or higher)',
    table: 'id, kind, name, state, waiting, address, subscriptions, last_success_at',
    rows: 'integrations',
    examples: ['svc notifications integrations'],
  },
  http: { method: 'get', path: '/api/integrations' },
})

export const connectEmail = creating({
  ...integrations,
  name: 'connectEmail',
  closedToSupport: true,
  summary:
    'Connect an email address. Nothing is sent to it before somebody there confirms it; connecting it again sends the link again.',
  input: z.object({
    address: field(Email, { label: 'Email address', hint: 'Stored encrypted and shown masked.' }),
    name: DisplayName.optional().describe('By default the masked address.'),
  }),
  output: Integration,
  errors: ['CONFLICT', 'RATE_LIMITED'],
  http: { method: 'post', path: '/api/integrations/email', success: 201 },
})

const verificationToken = { token: z.string().min(1).max(300) }

export const showAddressVerification = reading({
  service: 'api-gateway',
  name: 'showAddressVerification',
  summary: 'Show what a verification link would confirm; changes nothing.',
  input: z.object(verificationToken),
  output: z.object({
    organization: z.string().nullable().describe('Null: the link is not valid, or no longer.'),
    address: z.string().nullable().describe('Masked.'),
    verified: z.boolean(),
  }),
  access: 'anyone',
  http: { method: 'get', path: '/api/integrations/email/verification' },
})

export const verifyAddress = updating({
  service: 'api-gateway',
  name: 'verifyAddress',
  summary: 'Confirm the address of an email integration by the link that was mailed to it.',
  input: z.object(verificationToken),
  output: Nothing,
  errors: ['NOT_FOUND'],
  access: 'anyone',
  http: { method: 'post', path: '/api/integrations/email/verification', success: 204 },
})

export const connectWebhook = creating({
  ...integrations,
  name: 'connectWebhook',
  closedToSupport: true,
  summary: 'Connect a webhook. Its address is also the signing secret.',
  input: z.object({
    name: named('Operations desk'),
    url: field(SecretAddress, { example: 'https://hooks.example.com/svc/…' }),
    resend_on_unknown: z.boolean().default(false),
  }),
  output: Integration,
  errors: ['CONFLICT'],
  http: { method: 'post', path: '/api/integrations/webhook', success: 201 },
})

export const connectChatWebhook = creating({
  ...integrations,
  name: 'connectChatWebhook',
  closedToSupport: true,
  summary: 'Connect a chat channel by the address of an incoming webhook.',
  input: z.object({
    name: named('#tickets'),
    url: field(SecretAddress, { example: 'https://hooks.slack.com/services/…' }),
  }),
  output: Integration,
  errors: ['CONFLICT'],
  http: { method: 'post', path: '/api/integrations/chat', success: 201 },
})

export const beginChatInstall = creating({
  ...integrations,
  name: 'beginChatInstall',
  closedToSupport: true,
  summary: 'Start installing the chat app; returns the address to open in a browser.',
  input: z.object({}),
  output: z.object({ url: z.string() }),
  errors: ['CONFLICT'],
  http: { method: 'post', path: '/api/integrations/chat/install' },
})

const callback = { code: z.string().min(1).max(500), state: z.string().min(1).max(200) }

export const completeChatInstall = creating({
  ...integrations,
  name: 'completeChatInstall',
  closedToSupport: true,
  summary: 'Finish installing the chat app; subscriptions that its loss disabled are enabled again.',
  input: z.object(callback),
  output: Integration,
  errors: ['CONFLICT', 'TIMEOUT'],
  http: { method: 'post', path: '/api/integrations/chat/complete' },
})

export const connectForum = creating({
  ...integrations,
  name: 'connectForum',
  closedToSupport: true,
  summary: 'Connect a forum with an API key for all users; a single-user key is rejected.',
  input: z.object({
    url: ForumAddress,
    api_key: field(z.string().min(1).max(200), {
      label: 'Admin API key',
      hint: 'Valid for all users and allowed to write topics. A single-user key is refused, because every post would be theirs.',
      isSecret: true,
    }),
  }),
  output: Integration,
  errors: ['CONFLICT', 'TIMEOUT'],
  http: { method: 'post', path: '/api/integrations/forum/connect', success: 201 },
})

export const configureForum = updating({
  ...integrations,
  name: 'configureForum',
  summary: 'Choose the forum category to post in.',
  input: z.object({
    config: z.strictObject({
      url: ForumAddress,
      category: field(z.int().min(1), {
        label: 'Category number',
        hint: 'The number at the end of the category URL, such as 7 in /c/news/7.',
      }),
    }),
  }),
  output: Integration,
  errors: ['CONFLICT'],
  http: { method: 'put', path: '/api/integrations/forum' },
})

const integrationId = { integration_id: Id('int') }

export const updateIntegration = updating({
  ...integrations,
  name: 'updateIntegration',
  closedToSupport: true,
  summary:
    'Rename an integration, change its address (which rotates the signing key, or has the email address confirmed anew), or turn it off or on.',
  input: z.object({
    ...integrationId,
    name: DisplayName.optional(),
    url: Address.optional().describe('Chat and webhook.'),
    address: Email.optional().describe('Email.'),
    enabled: z.boolean().optional(),
    resend_on_unknown: z.boolean().optional(),
  }),
  output: Integration,
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  http: { method: 'patch', path: '/api/integrations/{integration_id}' },
})

export const pauseIntegration = updating({
  ...integrations,
  name: 'pauseIntegration',
  summary: 'Pause an integration: its deliveries wait, and are sent in order when it is resumed.',
  input: z.object(integrationId),
  output: Integration,
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: {
    path: 'notifications integrations pause',
    summary: 'Let the deliveries of an integration wait (admin or higher)',
    fields: 'id, name, state, waiting',
    notes: ['Send what waited with: svc notifications integrations resume {integration_id}'],
    examples: ['svc notifications integrations pause int_0mwhkcyh5nlh1pqqssy5gj19q'],
  },
  http: { method: 'post', path: '/api/integrations/{integration_id}/pause' },
})

export const resumeIntegration = updating({
  ...integrations,
  name: 'resumeIntegration',
  summary: 'Resume a paused integration: what waited is sent, the oldest first.',
  input: z.object(integrationId),
  output: Integration,
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: {
    path: 'notifications integrations resume',
    summary: 'Send what waited for a paused integration (admin or higher)',
    fields: 'id, name, state',
    examples: ['svc notifications integrations resume int_0mwhkcyh5nlh1pqqssy5gj19q'],
  },
  http: { method: 'post', path: '/api/integrations/{integration_id}/resume' },
})

export const rotateWebhookSecret = creating({
  ...integrations,
  name: 'rotateWebhookSecret',
  closedToSupport: true,
  closedToCliSessions: true,
  summary:
    'Give a webhook a new whsec_ secret of its own. It is shown once; the previous key signs beside it for a while.',
  input: z.object({ ...integrationId, ...rotationInput }),
  output: z.object({ secret: z.string(), previous_secret_until: Time.nullable() }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: {
    path: 'notifications integrations rotate-secret',
    summary: 'Give a webhook a new signing secret; it is shown once (admin or higher)',
    fields: 'secret, previous_secret_until',
    notes: ['Store the secret now: it is not shown again.'],
    examples: ['svc notifications integrations rotate-secret int_0mwhkcyh5nlh1pqqssy5gj19q'],
  },
  http: { method: 'post', path: '/api/integrations/{integration_id}/secret', success: 201 },
})

export const removeWebhookSecret = removing({
  ...integrations,
  name: 'removeWebhookSecret',
  closedToSupport: true,
  summary: 'Remove the whsec_ secret of a webhook: only the key of its address signs from then on.',
  input: z.object(integrationId),
  output: Nothing,
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'delete', path: '/api/integrations/{integration_id}/secret', success: 204 },
})

export const sendAddressVerification = creating({
  ...integrations,
  name: 'sendAddressVerification',
  closedToSupport: true,
  summary: 'Mail the verification link of an email integration again; the earlier link ends.',
  input: z.object(integrationId),
  output: Nothing,
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  http: { method: 'post', path: '/api/integrations/{integration_id}/verification', success: 204 },
})

export const testIntegration = creating({
  ...integrations,
  name: 'testIntegration',
  summary: 'Send a test event to an integration now, whatever it is subscribed to.',
  input: z.object(integrationId),
  output: z.object({ event_id: z.string(), delivery_id: z.string() }),
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  http: { method: 'post', path: '/api/integrations/{integration_id}/test', success: 201 },
})

export const removeIntegration = removing({
  ...integrations,
  name: 'removeIntegration',
  summary: 'Remove an integration and its subscriptions.',
  input: z.object(integrationId),
  output: Nothing,
  errors: ['NOT_FOUND'],
  command: {
    path: 'notifications disconnect',
    summary: 'Remove an integration and its subscriptions (admin or higher)',
    confirm: 'This removes integration {integration_id} and its subscriptions.',
    done: 'Removed {integration_id}',
    examples: ['svc notifications disconnect int_0mwhkcyh5nlh1pqqssy5gj19q --yes'],
  },
  http: { method: 'delete', path: '/api/integrations/{integration_id}', success: 204 },
})

const chatLink = { service: 'api-gateway', access: 'viewer' } as const

export const showChatLink = reading({
  ...chatLink,
  name: 'showChatLink',
  summary: 'Show your linked chat account.',
  input: z.object({}),
  output: z.object({
    workspace_connected: z.boolean(),
    link: z
      .object({
        workspace: z.string(),
        user_id: z.string(),
        display_name: z.string(),
        active: z.boolean(),
        linked_at: Time,
      })
      .nullable(),
  }),
  http: { method: 'get', path: '/api/notifications/chat-link' },
})

export const beginChatLink = creating({
  ...chatLink,
  name: 'beginChatLink',
  closedToCliSessions: true,
  closedToSupport: true,
  summary: 'Start linking your chat account; returns the address to open in a browser.',
  input: z.object({}),
  output: z.object({ url: z.string() }),
  errors: ['CONFLICT'],
  http: { method: 'post', path: '/api/notifications/chat-link' },
})

export const completeChatLink = creating({
  ...chatLink,
  name: 'completeChatLink',
  closedToSupport: true,
  summary: 'Finish linking your chat account.',
  input: z.object(callback),
  output: z.object({ workspace: z.string(), display_name: z.string() }),
  errors: ['CONFLICT', 'TIMEOUT'],
  http: { method: 'post', path: '/api/notifications/chat-link/complete' },
})

export const removeChatLink = removing({
  ...chatLink,
  name: 'removeChatLink',
  summary: 'Unlink your chat account. Your follows are kept and resume when you link again.',
  input: z.object({}),
  output: Nothing,
  http: { method: 'delete', path: '/api/notifications/chat-link', success: 204 },
})
