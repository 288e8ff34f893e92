/** Connections to the outside: a chat channel, a signed webhook, a forum. Addresses and keys go in and never come out. */
import * as z from 'zod'
import { DisplayName, Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { operation } from './operation.ts'

export const INTEGRATION_KINDS = ['chat', 'webhook', 'forum'] as const
export type IntegrationKind = (typeof INTEGRATION_KINDS)[number]

/** `lost`: the chat service forgot the webhook; `gone`: the receiver said 410; `dead`: failed for days; `off`: by an admin. */
export const INTEGRATION_STATES = ['active', 'lost', 'gone', 'dead', 'off'] as const
export type IntegrationState = (typeof INTEGRATION_STATES)[number]

/** Only `connection_lost` is ever lifted by the platform, when that connection comes back. */
export const DISABLED_REASONS = ['paused', 'unsubscribed', 'connection_lost'] as const

export const Integration = z.object({
  id: z.string(),
  kind: z.enum(INTEGRATION_KINDS),
  name: z.string(),
  state: z.enum(INTEGRATION_STATES),
  address: z.string().describe('Masked.'),
  workspace: z.string().nullable().describe('Of a chat connection that was installed.'),
  channel: z.string().nullable(),
  category: z.int().nullable().describe('Of a forum.'),
  resend_on_unknown: z
    .boolean()
    .describe('The receiver tells repetitions by their id, so a lost answer is tried again.'),
  subscriptions: z.int(),
  failing_since: Time.nullable(),
  last_success_at: Time.nullable(),
  created_at: Time,
})

const Address = z.string().min(1).max(2_048)

const integrations = {
  service: 'api-gateway',
  scope: null,
  who: 'admin',
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
} as const
const writes = { readOnly: false, destructive: false, idempotent: false } as const

export const listIntegrations = operation({
  ...integrations,
  name: 'integrations.list',
  summary: 'List the connections of the organization, with masked addresses.',
  input: z.object({}),
  output: z.object({
    integrations: z.array(Integration),
    email: z.object({ ready: z.boolean(), from: z.string().nullable() }).describe('The platform’s own mail.'),
    chat_install: z.boolean().describe('Whether the operator has set up the chat app.'),
  }),
  readOnly: true,
  destructive: false,
  idempotent: true,
  http: { method: 'get', path: '/api/integrations' },
})

export const connectWebhook = operation({
  ...integrations,
  ...writes,
  name: 'integrations.connectWebhook',
  closedToSupport: true,
  summary: 'Connect a signed webhook. Its address is the secret it is signed with.',
  input: z.object({ name: DisplayName, url: Address, resend_on_unknown: z.boolean().default(false) }),
  output: Integration,
  errors: [...integrations.errors, 'CONFLICT'],
  http: { method: 'post', path: '/api/integrations/webhook', success: 201 },
})

export const connectChatWebhook = operation({
  ...integrations,
  ...writes,
  name: 'integrations.connectChat',
  closedToSupport: true,
  summary: 'Connect a chat channel by the address of its incoming webhook.',
  input: z.object({ name: DisplayName, url: Address }),
  output: Integration,
  errors: [...integrations.errors, 'CONFLICT'],
  http: { method: 'post', path: '/api/integrations/chat', success: 201 },
})

export const beginChatInstall = operation({
  ...integrations,
  ...writes,
  name: 'integrations.beginChatInstall',
  closedToSupport: true,
  summary: 'Begin installing the chat app: answers the address to open in a browser.',
  input: z.object({}),
  output: z.object({ url: z.string() }),
  errors: [...integrations.errors, 'CONFLICT'],
  http: { method: 'post', path: '/api/integrations/chat/install' },
})

const returned = { code: z.string().min(1).max(500), state: z.string().min(1).max(200) }

export const completeChatInstall = operation({
  ...integrations,
  ...writes,
  name: 'integrations.completeChatInstall',
  closedToSupport: true,
  summary: 'Complete it with what the chat service sent back; reconnecting enables what its loss disabled.',
  input: z.object(returned),
  output: Integration,
  errors: [...integrations.errors, 'CONFLICT', 'TIMEOUT'],
  http: { method: 'post', path: '/api/integrations/chat/complete' },
})

export const connectForum = operation({
  ...integrations,
  ...writes,
  name: 'integrations.connectForum',
  closedToSupport: true,
  summary: 'Connect a forum with an admin API key for all users; a key of a single user is refused.',
  input: z.object({ url: Address, api_key: z.string().min(1).max(200) }),
  output: Integration,
  errors: [...integrations.errors, 'CONFLICT', 'TIMEOUT'],
  http: { method: 'post', path: '/api/integrations/forum/connect', success: 201 },
})

export const configureForum = operation({
  ...integrations,
  ...writes,
  idempotent: true,
  name: 'integrations.configureForum',
  summary: 'Say where in the connected forum to post.',
  input: z.object({ config: z.strictObject({ url: Address, category: z.int().min(1) }) }),
  output: Integration,
  errors: [...integrations.errors, 'CONFLICT'],
  http: { method: 'put', path: '/api/integrations/forum' },
})

const integrationId = { integration_id: Id('int') }

export const updateIntegration = operation({
  ...integrations,
  ...writes,
  idempotent: true,
  name: 'integrations.update',
  closedToSupport: true,
  summary: 'Rename a connection, give it a new address (which rotates the key), or switch it off and on.',
  input: z.object({
    ...integrationId,
    name: DisplayName.optional(),
    url: Address.optional().describe('Chat and webhook.'),
    enabled: z.boolean().optional(),
    resend_on_unknown: z.boolean().optional(),
  }),
  output: Integration,
  errors: [...integrations.errors, 'NOT_FOUND', 'CONFLICT'],
  http: { method: 'patch', path: '/api/integrations/connections/{integration_id}' },
})

export const removeIntegration = operation({
  ...integrations,
  ...writes,
  destructive: true,
  idempotent: true,
  name: 'integrations.remove',
  summary: 'Remove a connection and its subscriptions.',
  input: z.object(integrationId),
  output: Nothing,
  errors: [...integrations.errors, 'NOT_FOUND'],
  http: { method: 'delete', path: '/api/integrations/connections/{integration_id}', success: 204 },
})

const chatLink = { service: 'api-gateway', scope: null, who: 'viewer', errors: integrations.errors } as const

export const showChatLink = operation({
  ...chatLink,
  name: 'chatLink.show',
  summary: 'Show your own chat account here: linked, inactive, or none.',
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
  readOnly: true,
  destructive: false,
  idempotent: true,
  http: { method: 'get', path: '/api/notifications/chat-link' },
})

export const beginChatLink = operation({
  ...chatLink,
  ...writes,
  name: 'chatLink.begin',
  closedToSupport: true,
  summary: 'Begin linking your chat account: answers the address to open in a browser.',
  input: z.object({}),
  output: z.object({ url: z.string() }),
  errors: [...integrations.errors, 'CONFLICT'],
  http: { method: 'post', path: '/api/notifications/chat-link' },
})

export const completeChatLink = operation({
  ...chatLink,
  ...writes,
  name: 'chatLink.complete',
  closedToSupport: true,
  summary: 'Complete it with what the chat service sent back.',
  input: z.object(returned),
  output: z.object({ workspace: z.string(), display_name: z.string() }),
  errors: [...integrations.errors, 'CONFLICT', 'TIMEOUT'],
  http: { method: 'post', path: '/api/notifications/chat-link/complete' },
})

export const removeChatLink = operation({
  ...chatLink,
  ...writes,
  destructive: true,
  idempotent: true,
  name: 'chatLink.remove',
  summary: 'Unlink your chat account. What you follow is kept, and goes on when you link again.',
  input: z.object({}),
  output: Nothing,
  http: { method: 'delete', path: '/api/notifications/chat-link', success: 204 },
})
