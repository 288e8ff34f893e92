/** What somebody reaches, and why; and what to do when somebody else was in: end everything that was made since then. */
import * as z from 'zod'
import { ACCESS_BARRIERS } from './access-reasons.ts'
import { SourceId } from './data-sources.ts'
import { field } from './field.ts'
import { ScopeName } from './fields.ts'
import { Id } from './ids.ts'
import { EXPOSED_MAX } from './limits.ts'
import { MCP_TOOL_NAMES } from './mcp-tools.ts'
import { reading, removing } from './operation.ts'
import { GrantableRole, RoleName } from './roles.ts'

const Reached = {
  reached: z.boolean(),
  why: z.array(z.enum(ACCESS_BARRIERS)).describe('What stands against it; empty where it is reached.'),
}

const ReachedSource = z.object({
  id: z.string(),
  source_id: z.string().describe('`db_` and the name of the database.'),
  name: z.string(),
  minimum_role: RoleName,
  ...Reached,
  rows: z.enum(['all', 'limited']),
  rows_of: z
    .array(z.string())
    .describe('With `limited`: rows are reached whose access column has one of these.'),
})

const Access = z.object({
  role: RoleName.describe('The least of what was given and what its person has now.'),
  scopes: z.array(ScopeName).nullable().describe('null: not limited by scopes.'),
  sources: z.array(ReachedSource).describe('Of all that you may see.'),
  apps: z.object({
    ...Reached,
    count: z.int(),
    readable: z.int().describe('Those whose source and log lines may be read.'),
  }),
  tools: z
    .array(z.object({ name: z.enum(MCP_TOOL_NAMES), ...Reached }))
    .describe('Those of the MCP endpoints that it may be used at.'),
})

export const showAccess = reading({
  name: 'showAccess',
  summary:
    'Show which data sources, rows, apps and tools a person, an API token or an agent reaches and why, also after a change that is not saved.',
  service: 'auth-service',
  input: z.object({
    user_id: field(Id('usr').optional().describe('Of a member: you, or as owner or admin anybody.'), {
      client: 'Member (usr_…)',
    }),
    token_id: field(Id('tok').optional(), { client: 'API token (tok_…)' }),
    grant_id: field(Id('grt').optional(), { client: 'Grant of an agent (grt_…)' }),
    role: field(GrantableRole.optional().describe('With `user_id`: as if they had this role.'), {
      client: 'As if the member had this role',
    }),
    scopes: field(z.array(ScopeName).min(1).optional().describe('With `grant_id`: as if it kept these.'), {
      client: 'As if the agent kept this scope',
    }),
    sources: field(
      z.array(SourceId).max(EXPOSED_MAX).optional().describe('With `grant_id`: as if it kept these.'),
      { client: { value: 'source_id', summary: 'As if the agent kept this data source', values: 'sources' } },
    ),
    used_within_days: field(
      z.int().min(1).max(365).optional().describe('With `grant_id`: as if it kept that.'),
      {
        client: 'As if the agent kept what it used in so many days',
      },
    ),
  }),
  output: z.object({
    now: Access,
    after: Access.nullable().describe('After the change; null where none was given.'),
    loses: z
      .object({
        sources: z.array(z.string()).describe('By name.'),
        rows: z.array(z.string()).describe('Data sources of which it reaches fewer rows.'),
        apps: z.int().describe('Apps whose source and log lines it could read.'),
        tools: z.array(z.enum(MCP_TOOL_NAMES)),
      })
      .nullable(),
  }),
  access: 'viewer',
  errors: ['NOT_FOUND'],
  command: {
    path: 'access',
    summary: 'Show what a member, an API token or an agent reaches, and why',
    atLeastOne: {
      problem: 'Whose access?',
      hint: 'Add --user, --token or --grant',
    },
    fields: 'ROLE=now.role, APPS=now.apps.count',
    format: 'yaml',
    examples: [
      'svc access --grant grt_01k3v5j8e2q4r6t8w0y2a4c6e8',
      'svc access --user usr_01k3v5j8e2q4r6t8w0y2a4c6e8 --role viewer',
    ],
  },
  http: { method: 'post', path: '/api/v1/access/show' },
})

export const endAccessSince = removing({
  name: 'endAccessSince',
  summary:
    'End the sessions, logins of the client, API tokens, grants, credentials of machine agents, apps and SCIM, and invitations that were made since a time.',
  service: 'auth-service',
  input: z.object({
    since: z.iso.datetime({ offset: true }).describe('Everything made at or after this time ends.'),
    all: z
      .boolean()
      .default(false)
      .describe('Those of the whole organization, as far as roles are not above yours; owner or admin.'),
    user_id: Id('usr')
      .optional()
      .describe(
        'Those of one member of the organization; owner or admin. Left out: your own, in all organizations.',
      ),
  }),
  output: z.object({
    sessions: z.int().describe('With logins of the client, and without the one you use.'),
    tokens: z.int(),
    grants: z.int(),
    credentials: z.int().describe('Of machine agents and SCIM, tokens of apps and their service accounts.'),
    invitations: z.int(),
  }),
  access: 'session',
  errors: ['NOT_FOUND'],
  closedToSupport: true,
  http: { method: 'post', path: '/api/v1/access/end' },
})
