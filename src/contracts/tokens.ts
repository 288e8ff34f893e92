/** API tokens, and the validation of any token. */
import * as z from 'zod'
import { field } from './field.ts'
import { AudienceName, Nothing, PurposeName, ScopeName, Time } from './fields.ts'
import { Id } from './ids.ts'
import { BEARER_MAX, PAGE_DEFAULT } from './limits.ts'
import { creating, reading, removing } from './operation.ts'
import { Organization } from './organizations.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'
import { GrantableRole, RoleName } from './roles.ts'
import { PreviousValue, ROTATION_NOTES, rotationInput } from './rotation.ts'
import { APP_SCOPES, SCOPE_NAMES } from './scopes.ts'

export const ApiToken = z.object({
  id: z.string(),
  name: z.string(),
  user_id: z.string(),
  user_name: z.string(),
  starts_with: z.string().describe('The first characters, to tell tokens apart.'),
  role_cap: GrantableRole.describe(
    'The highest role the token ever acts with, never above your own; owner: not capped.',
  ),
  scopes: z.array(ScopeName).nullable().describe('null: not limited by scopes.'),
  audiences: z.array(AudienceName),
  created_at: Time,
  expires_at: Time.nullable(),
  last_used_at: Time.nullable(),
  previous: PreviousValue,
})

const tokenValue = z.string().describe('Store it now: it is not returned again.')

export const createApiToken = creating({
  name: 'createApiToken',
  summary: 'Create an API token. Its value is returned once.',
  service: 'auth-service',
  input: z.object({
    name: PurposeName,
    role_cap: field(
      GrantableRole.optional().describe(
        'Default: not capped, the token acts with the role that you have at the time. With viewer it has no role on apps.',
      ),
      {
        label: 'Role',
        hint: 'The token never exceeds this role or your own current role. As viewer it has no role on apps.',
      },
    ),
    scopes: z
      .array(ScopeName)
      .min(1)
      .transform((scopes) => [...new Set(scopes)])
      .optional()
      .describe('Without it, the token is not limited by scopes.'),
    audiences: z
      .array(AudienceName)
      .min(1)
      .transform((audiences) => [...new Set(audiences)])
      .optional()
      .describe('Default: all of them; for a token that you create with a token, those of that one.'),
    expires_in_days: field(
      z.int().min(1).max(3650).optional().describe('Without it, the token does not expire.'),
      { label: 'Expires' },
    ),
  }),
  output: z.object({ ...ApiToken.shape, token: tokenValue }),
  access: 'viewer',
  errors: ['CONFLICT'],
  closedToCliSessions: true,
  closedToSupport: true,
  http: { method: 'post', path: '/api/v1/tokens', success: 201 },
})

export const listApiTokens = reading({
  name: 'listApiTokens',
  summary: 'List your API tokens. Owners and admins can list everybody’s.',
  service: 'auth-service',
  input: z.object({
    all: field(z.stringbool().default(false).describe('Every token of the organization; owner or admin.'), {
      client: { flag: 'everyone', summary: 'List tokens of all members (admin or higher)' },
    }),
    search: z.string().trim().max(120).optional().describe('Part of a token’s name.'),
    ...countedPageInput,
  }),
  output: z.object({ tokens: z.array(ApiToken), ...countedPageOutput }),
  access: 'viewer',
  command: {
    path: 'tokens list',
    summary: 'List your API tokens',
    table:
      'TOKEN=id, name, starts_with, role_cap, expires_at, last_used_at, OLD VALUE UNTIL=previous.works_until, OLD VALUE USED=previous.last_used_at',
    examples: ['svc tokens list', 'svc tokens list --everyone --search ci'],
  },
  http: { method: 'get', path: '/api/v1/tokens' },
})

export const rotateApiToken = creating({
  name: 'rotateApiToken',
  summary: 'Give an API token a new value, which is returned once. What it may do and its expiry stay.',
  service: 'auth-service',
  input: z.object({ token_id: Id('tok'), ...rotationInput }),
  output: z.object({ ...ApiToken.shape, token: tokenValue }),
  access: 'viewer',
  errors: ['NOT_FOUND'],
  closedToCliSessions: true,
  closedToSupport: true,
  command: {
    path: 'tokens rotate',
    summary: 'Give an API token a new value; the old one works for a day, or as long as you say',
    fields: 'id, name, token',
    notes: ROTATION_NOTES,
    examples: [
      'svc tokens rotate tok_0mwhkcyh5nlh1pqqssy5gj19q',
      'svc tokens rotate tok_0mwhkcyh5nlh1pqqssy5gj19q --overlap 0',
    ],
  },
  http: { method: 'post', path: '/api/v1/tokens/{token_id}/rotate' },
})

export const revokeApiToken = removing({
  name: 'revokeApiToken',
  summary: 'Revoke an API token, and the tokens that were created with it.',
  service: 'auth-service',
  input: z.object({ token_id: Id('tok') }),
  output: Nothing,
  access: 'viewer',
  errors: ['NOT_FOUND'],
  command: {
    path: 'tokens revoke',
    summary: 'Revoke an API token, and those that were created with it',
    confirm: 'This revokes {token_id}. Whatever uses it stops working.',
    done: 'Revoked {token_id}',
    examples: ['svc tokens revoke tok_0mwhkcyh5nlh1pqqssy5gj19q'],
  },
  http: { method: 'delete', path: '/api/v1/tokens/{token_id}', success: 204 },
})

/** Who a token speaks for, and what it may do now. */
export const TokenHolder = z.object({
  kind: z.enum(['user', 'cli_session', 'api_token', 'actor']),
  user: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  organization: z.object({ id: z.string(), name: z.string(), slug: z.string() }).nullable(),
  role: RoleName.nullable(),
  scopes: z.array(ScopeName).nullable().describe('null: not limited by scopes.'),
  audiences: z.array(AudienceName),
  expires_at: Time.nullable(),
  token_id: z.string().optional(),
  session_id: z.string().optional(),
  cli_session_id: z.string().optional().describe('Of a login of the client, which is no session.'),
  client_id: z.string().optional(),
  client_name: z.string().optional().describe('The name the client gave itself, unverified.'),
  grant_id: z.string().optional(),
  support_session_id: z.string().optional().describe('Set in a support session.'),
  sources: z
    .array(z.string())
    .optional()
    .describe('Ids of the data sources the grant is limited to; absent: all its user may query.'),
  retry_after_seconds: z
    .int()
    .optional()
    .describe('Set when the token has made too many MCP calls: the call must be refused.'),
})

export const ValidatedToken = z.object({
  valid: z.literal(true),
  ...TokenHolder.shape,
  kind: z.enum([...TokenHolder.shape.kind.options, 'workload']),
  user: TokenHolder.shape.user
    .extend({ email: z.string().nullable().describe('null: a machine agent has none.') })
    .nullable()
    .describe('null for a workload.'),
  scopes: z
    .array(z.enum([...SCOPE_NAMES, ...APP_SCOPES]))
    .nullable()
    .describe('null: not limited by scopes.'),
  machine_agent: z
    .object({
      id: z.string(),
      owner_id: z.string(),
      scopes: z.array(ScopeName).describe('All that it was given; a token may have fewer.'),
    })
    .optional()
    .describe('Of a machine agent: which one, and the member who answers for it.'),
  carries_app_roles: z
    .boolean()
    .optional()
    .describe('Whether the roles that its user has on apps count. Absent: older than this field.'),
  deployment: z.string().optional().describe('Of a workload: the alias of its app.'),
  workload: z
    .object({
      binding_id: z.string(),
      app_id: z.string(),
      namespace: z.string(),
      service_account: z.string(),
      pod: z.string().nullable(),
    })
    .optional()
    .describe('Of a workload: the service account that it runs as.'),
  membership: z
    .object({
      id: z.string().optional().describe('Another one each time the user joins.'),
      role: RoleName.describe('The user’s own role, whatever the token is capped at.'),
      email_verified: z.boolean(),
      timezone: z.string().describe('Of the organization.'),
    })
    .optional()
    .describe('The user as a member of the organization; absent in a support session.'),
  organizations: z
    .array(Organization)
    .optional()
    .describe(
      `Of a session, if they were asked for and are fewer than ${PAGE_DEFAULT}: as listOrganizations lists them.`,
    ),
})

type Validated = z.output<typeof ValidatedToken>

/** Of a person, or of an agent that acts for one. */
export type PersonValidation = Omit<Validated, 'kind' | 'user' | 'scopes' | 'deployment' | 'workload'> &
  Pick<z.output<typeof TokenHolder>, 'kind' | 'scopes'> & { readonly user: NonNullable<Validated['user']> }
/** Of a program that its cluster vouches for. */
export type WorkloadValidation = Omit<
  Validated,
  'kind' | 'user' | 'role' | 'scopes' | 'deployment' | 'workload'
> & {
  readonly kind: 'workload'
  readonly user: null
  readonly role: null
  readonly scopes: ['apps:report']
  readonly deployment: string
  readonly workload: NonNullable<Validated['workload']>
}

/** The answer of the auth service, told apart. */
export const isWorkload = (valid: Validated | WorkloadValidation): valid is WorkloadValidation =>
  valid.kind === 'workload' && valid.deployment !== undefined && valid.workload !== undefined
export const isPerson = (valid: Validated | PersonValidation): valid is PersonValidation =>
  valid.kind !== 'workload' && valid.user !== null

export const validateToken = reading({
  name: 'validateToken',
  summary: 'Validate a token: whose it is and what it may do now.',
  service: 'auth-service',
  input: z.object({
    token: z.string().min(1).max(BEARER_MAX).optional().describe('Or send it as the bearer token.'),
    organization: z.string().max(60).optional().describe('Id or slug of the organization to act in.'),
    organizations: z
      .boolean()
      .optional()
      .describe('Whether to list the organizations of the person as well, where none is named.'),
    audience: AudienceName.optional().describe(
      'Where the token is used; refused if it is not in the audiences of the token. An MCP endpoint counts a call.',
    ),
  }),
  output: ValidatedToken,
  access: 'anyone',
  errors: ['UNAUTHENTICATED', 'RATE_LIMITED', 'CLUSTER_UNAVAILABLE'],
  http: { method: 'post', path: '/api/v1/tokens/validate' },
})
