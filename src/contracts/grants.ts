/** Grants that users gave to OAuth clients, and the clients themselves. */
import * as z from 'zod'
import { SourceId } from './data-sources.ts'
import { field } from './field.ts'
import { Nothing, ScopeName, Time } from './fields.ts'
import { Id } from './ids.ts'
import { EXPOSED_MAX, UNUSED_DAYS } from './limits.ts'
import { reading, removing, updating } from './operation.ts'
import { countedPageInput, countedPageOutput, pageInput, pageOutput } from './paging.ts'

export const CLIENT_KINDS = ['pre_registered', 'dynamic', 'metadata_document', 'machine'] as const
export type ClientKind = (typeof CLIENT_KINDS)[number]

/** Approved by its person, given by the organization through its identity provider, or that of a machine agent. */
export const GRANT_VIAS = ['consent', 'enterprise', 'machine'] as const
export type GrantVia = (typeof GRANT_VIAS)[number]

/** A metadata URL or a registered id. It is compared, never fetched because of this field. */
export const ClientId = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII')

const GrantSource = z.object({
  id: z.string(),
  source_id: z.string().describe('`db_` and the name of the database.'),
  name: z.string(),
})

export const Grant = z.object({
  id: z.string(),
  client_id: z.string(),
  client_kind: z.enum(CLIENT_KINDS),
  client_name: z.string().nullable().describe('The name the client gave itself, unverified.'),
  host: z
    .string()
    .describe(
      'The verified host of a metadata document, otherwise the host of the redirect; empty for a machine agent.',
    ),
  user: z.object({
    id: z.string(),
    email: z.string().nullable().describe('null: a machine agent has none.'),
    name: z.string(),
  }),
  via: z
    .enum(GRANT_VIAS)
    .describe(
      '`consent`: its user approved it; `enterprise`: the identity provider of the organization; `machine`: a machine agent.',
    ),
  machine_agent_id: z.string().nullable().describe('With `machine`: which one.'),
  resource: z.enum(['platform', 'notifications']),
  scopes: z.array(ScopeName),
  sources: z
    .array(GrantSource)
    .nullable()
    .describe('The data sources it is limited to, of those you may see; null: all its user may query.'),
  created_at: Time,
  last_used_at: Time.nullable(),
  expires_at: Time,
})

const GRANT_TABLE =
  'GRANT=id, host, NAME=client_name, user.email|user.name, ENDPOINT=resource, scopes:words, sources:sources, last_used_at'

export const listGrants = reading({
  name: 'listGrants',
  summary: 'List your grants. Owners and admins can list everybody’s.',
  service: 'auth-service',
  input: z.object({
    all: field(z.stringbool().default(false).describe('Every grant of the organization; owner or admin.'), {
      client: { flag: 'everyone', summary: 'List grants of all members (admin or higher)' },
    }),
    client_id: ClientId.optional().describe('Only grants of this client.'),
    search: z
      .string()
      .trim()
      .max(120)
      .optional()
      .describe('Part of the client’s name, id or host, or of the user’s name; or the whole id of a grant.'),
    ...countedPageInput,
  }),
  output: z.object({ grants: z.array(Grant), ...countedPageOutput }),
  access: 'viewer',
  command: {
    path: 'agents list',
    summary: 'List the assistants you connected, with their grants',
    table: GRANT_TABLE,
    examples: ['svc agents list', 'svc agents list --everyone --all --json'],
  },
  http: { method: 'get', path: '/api/v1/grants' },
})

/**
 * Why a grant has ended: by its user, an admin, its own client, a stolen token, with the membership, or by itself; one of
 * the identity provider also with what it came in by, one of a machine agent with the agent, and where the organization
 * wants that, one that nobody uses.
 */
export const GRANT_END_REASONS = [
  'disconnected',
  'revoked',
  'token_revoked',
  'reuse_detected',
  'access_ended',
  'expired',
  'keys_rotated',
  'provider_paused',
  'provider_removed',
  'rules_changed',
  'client_forbidden',
  'unlinked',
  'agent_removed',
  'credential_revoked',
  'replaced',
  'unused',
] as const
export type GrantEndReason = (typeof GRANT_END_REASONS)[number]

const Use = { calls: z.int(), last_used_at: Time.nullable() }

/** What it has used of what it may use. */
const GrantUse = z.object({
  since: Time.describe('Since when it is counted.'),
  scopes: z.array(z.object({ scope: ScopeName, ...Use })).describe('Of each of its scopes.'),
  sources: z
    .array(GrantSource.extend(Use))
    .describe('The data sources it has used, of those you may see, the last one first.'),
  unused: z
    .object({ scopes: z.array(ScopeName), sources: z.array(GrantSource) })
    .nullable()
    .describe(
      `What it may use now, and has not used for ${UNUSED_DAYS} days: what \`used_within_days\` would take. null: nothing, all of it, or it is counted for less long.`,
    ),
  narrows_on: Time.nullable().describe(
    'When what it has not used is taken by itself; null: nobody was told so.',
  ),
  ends_on: Time.nullable().describe('When it ends unless it is used; null: nobody was told so.'),
})

export const showGrant = reading({
  name: 'showGrant',
  summary: 'Show a grant, also one that has ended.',
  service: 'auth-service',
  input: z.object({ grant_id: Id('grt') }),
  output: Grant.extend({
    ended: z
      .object({
        at: Time.nullable().describe('null: with the rotation of a secret.'),
        reason: z.enum(GRANT_END_REASONS),
      })
      .nullable()
      .describe('null: not yet.'),
    blocked: z.boolean().describe('Whether the organization blocks its client.'),
    use: GrantUse,
  }),
  access: 'viewer',
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: '/api/v1/grants/{grant_id}' },
})

export const narrowGrant = updating({
  name: 'narrowGrant',
  summary: 'Remove scopes or data sources from a grant.',
  service: 'auth-service',
  input: z.object({
    grant_id: Id('grt'),
    scopes: field(z.array(ScopeName).min(1).optional().describe('The scopes to keep.'), {
      client: 'Scope to keep',
    }),
    sources: field(
      z
        .array(SourceId)
        .max(EXPOSED_MAX)
        .optional()
        .describe('The data sources to keep; an empty list keeps none.'),
      {
        client: {
          value: 'source_id',
          summary: 'Data source to keep',
          values: 'sources',
          not: { flag: 'no-sources', summary: 'Keep no data source' },
        },
      },
    ),
    used_within_days: field(
      z
        .int()
        .min(1)
        .max(365)
        .optional()
        .describe('Instead of both: keep what it has used within so many days, and nothing else.'),
      { client: 'Keep what it used in so many days' },
    ),
  }),
  output: Grant,
  access: 'viewer',
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: {
    path: 'agents narrow',
    summary: 'Narrow a grant to fewer scopes or data sources',
    atLeastOne: {
      problem: 'Nothing to narrow to',
      hint: 'Add --scope or --source for what the grant keeps, --no-sources, or --used-within-days',
    },
    table: GRANT_TABLE,
    examples: [
      'svc agents narrow grt_01k3v5j8e2q4r6t8w0y2a4c6e8 --scope data:read --source db_handbook',
      'svc agents narrow grt_01k3v5j8e2q4r6t8w0y2a4c6e8 --used-within-days 30',
    ],
  },
  http: { method: 'patch', path: '/api/v1/grants/{grant_id}' },
})

export const revokeGrant = removing({
  name: 'revokeGrant',
  summary: 'Revoke a grant.',
  service: 'auth-service',
  input: z.object({ grant_id: Id('grt') }),
  output: Nothing,
  access: 'viewer',
  errors: ['NOT_FOUND'],
  command: {
    path: 'agents revoke',
    summary: 'Revoke a grant and disconnect its assistant',
    confirm: 'This revokes {grant_id}. Its assistant must be approved again to reconnect.',
    done: 'Revoked {grant_id}',
    examples: ['svc agents revoke grt_01k3v5j8e2q4r6t8w0y2a4c6e8 --yes'],
  },
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

export const listOauthClients = reading({
  name: 'listOauthClients',
  summary: 'List the OAuth clients with a grant in the organization, and the blocked ones.',
  service: 'auth-service',
  input: z.object({ ...pageInput }),
  output: z.object({ oauth_clients: z.array(OauthClient), ...pageOutput }),
  access: 'admin',
  command: {
    path: 'agents clients',
    summary: 'List clients that have grants or are blocked (admin or higher)',
    table: 'client_id, kind, host, name, GRANTS=live_grants, blocked, last_used_at',
    examples: ['svc agents clients'],
  },
  http: { method: 'get', path: '/api/v1/oauth-clients' },
})

export const blockOauthClient = removing({
  name: 'blockOauthClient',
  summary: 'Block or unblock an OAuth client for the organization.',
  service: 'auth-service',
  input: z.object({ client_id: ClientId, blocked: z.boolean() }),
  output: Nothing,
  access: 'admin',
  command: [
    {
      path: 'agents block',
      summary: 'Block a client in this organization (admin or higher)',
      arguments: ['client_id'],
      always: { blocked: true },
      confirm: 'This blocks {client_id} for all members of this organization.',
      done: 'Blocked {client_id}',
      listedBy: 'agents clients',
      examples: ['svc agents block https://assistant.example.com/client.json --yes'],
    },
    {
      path: 'agents unblock',
      summary: 'Unblock a client (admin or higher)',
      arguments: ['client_id'],
      always: { blocked: false },
      done: 'Unblocked {client_id}. Grants that were revoked must be approved again.',
      listedBy: 'agents clients',
      examples: ['svc agents unblock https://assistant.example.com/client.json'],
    },
  ],
  http: { method: 'put', path: '/api/v1/oauth-clients', success: 204 },
})

export const setOauthClientActive = removing({
  name: 'setOauthClientActive',
  summary: 'Enable or disable an OAuth client for the whole installation.',
  service: 'auth-service',
  input: z.object({ client_id: ClientId, is_active: z.boolean() }),
  output: z.object({ client_id: z.string(), is_active: z.boolean() }),
  access: 'operator',
  errors: ['NOT_FOUND'],
  http: { method: 'put', path: '/api/v1/admin/oauth-clients' },
})

const Registration = z.object({
  client_id: z.string(),
  name: z.string().nullable().describe('The name the client gave itself, unverified.'),
  redirect_uris: z.array(z.string()).describe('A loopback redirect of a public client has no port.'),
  origin: z.string().nullable().describe('The web origin it counts against; null: its address.'),
  address: z.string().nullable().describe('The network address that registered it; of IPv6 the /64.'),
  is_active: z.boolean().describe('One that is turned off takes no slot, and cannot register again.'),
  live_grants: z.int(),
  created_at: Time,
  last_used_at: Time.nullable(),
  expires_at: Time.nullable(),
})

export const listRegistrations = reading({
  name: 'listRegistrations',
  summary: 'List the dynamic client registrations, newest first, and the slots they use.',
  service: 'auth-service',
  input: z.object({ ...pageInput }),
  output: z.object({
    slots: z.object({ used: z.int(), total: z.int(), per_origin: z.int(), per_address: z.int() }),
    addresses: z
      .array(z.object({ address: z.string(), used: z.int() }))
      .describe('Slots by the address that registered, most first.'),
    registrations: z.array(Registration),
    ...pageOutput,
  }),
  access: 'operator',
  http: { method: 'get', path: '/api/v1/admin/registrations' },
})

export const evictRegistration = removing({
  name: 'evictRegistration',
  summary: 'Remove a dynamic client registration and revoke its grants.',
  service: 'auth-service',
  input: z.object({ client_id: ClientId }),
  output: Nothing,
  access: 'operator',
  errors: ['NOT_FOUND'],
  http: { method: 'delete', path: '/api/v1/admin/registrations/{client_id}', success: 204 },
})
