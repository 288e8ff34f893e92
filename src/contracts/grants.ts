/** What agents were allowed: grants that people gave, the clients they gave them to, and how both are ended. */
import * as z from 'zod'
import { SourceId } from './data-sources.ts'
import { Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { EXPOSED_MAX } from './limits.ts'
import { operation } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'
import { ScopeName } from './scopes.ts'

export const CLIENT_KINDS = ['pre_registered', 'dynamic', 'metadata_document'] as const
export type ClientKind = (typeof CLIENT_KINDS)[number]

/** A metadata URL or a registered id; what stands in it is compared, never fetched because of this field. */
const ClientId = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII')

export const Grant = z.object({
  id: z.string(),
  client_id: z.string(),
  client_kind: z.enum(CLIENT_KINDS),
  client_name: z.string().nullable().describe('What the client calls itself; nobody checked it.'),
  host: z
    .string()
    .describe('The verified host of a metadata document, otherwise where the approval was sent.'),
  user: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  resource: z.enum(['platform', 'notifications']),
  scopes: z.array(ScopeName),
  sources: z
    .array(
      z.object({
        id: z.string(),
        source_id: z.string().describe('`db_` and the name of the database.'),
        name: z.string(),
      }),
    )
    .nullable()
    .describe(
      'The data sources it was given for, as far as you may know of them; null: all its person may ask.',
    ),
  created_at: Time,
  last_used_at: Time.nullable(),
  expires_at: Time,
})

export const listGrants = operation({
  name: 'grants.list',
  summary: 'List the agents you connected; owners and admins may list everybody’s.',
  service: 'auth-service',
  input: z.object({
    all: z.stringbool().default(false).describe('Every grant of the organization; owner or admin.'),
    client_id: ClientId.optional().describe('Only grants of this client.'),
    ...pageInput,
  }),
  output: z.object({ grants: z.array(Grant), ...pageOutput }),
  who: 'viewer',
  scope: null,
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/v1/grants' },
})

export const narrowGrant = operation({
  name: 'grants.narrow',
  summary: 'Take scopes or data sources away from an agent you connected; it acts on the next call.',
  service: 'auth-service',
  input: z.object({
    grant_id: Id('grt'),
    scopes: z.array(ScopeName).min(1).optional().describe('What is left of its scopes.'),
    sources: z
      .array(SourceId)
      .max(EXPOSED_MAX)
      .optional()
      .describe('What is left of its data sources; an empty list is none.'),
  }),
  output: Grant,
  who: 'viewer',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'patch', path: '/api/v1/grants/{grant_id}' },
})

export const revokeGrant = operation({
  name: 'grants.revoke',
  summary: 'Disconnect an agent: your own, or as owner or admin anybody’s.',
  service: 'auth-service',
  input: z.object({ grant_id: Id('grt') }),
  output: Nothing,
  who: 'viewer',
  scope: null,
  readOnly: false,
  destructive: true,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'delete', path: '/api/v1/grants/{grant_id}', success: 204 },
})

export const OauthClient = z.object({
  client_id: z.string(),
  kind: z.enum(CLIENT_KINDS),
  name: z.string().nullable(),
  host: z.string().nullable(),
  live_grants: z.int(),
  blocked: z.boolean().describe('For this organization.'),
  last_used_at: Time.nullable(),
})

export const listOauthClients = operation({
  name: 'oauthClients.list',
  summary: 'List the clients with a grant in this organization, and those it blocks.',
  service: 'auth-service',
  input: z.object({ ...pageInput }),
  output: z.object({ oauth_clients: z.array(OauthClient), ...pageOutput }),
  who: 'admin',
  scope: null,
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/v1/oauth-clients' },
})

export const blockOauthClient = operation({
  name: 'oauthClients.block',
  summary: 'Block a client or a metadata URL for this organization, or let it in again.',
  service: 'auth-service',
  input: z.object({ client_id: ClientId, blocked: z.boolean() }),
  output: Nothing,
  who: 'admin',
  scope: null,
  readOnly: false,
  destructive: true,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'put', path: '/api/v1/oauth-clients', success: 204 },
})

export const setClientActive = operation({
  name: 'oauthClients.setActive',
  summary: 'Switch a client on or off for the whole installation.',
  service: 'auth-service',
  input: z.object({ client_id: ClientId, is_active: z.boolean() }),
  output: z.object({ client_id: z.string(), is_active: z.boolean() }),
  who: 'operator',
  scope: null,
  readOnly: false,
  destructive: true,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'put', path: '/api/v1/admin/oauth-clients' },
})
