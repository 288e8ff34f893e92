/** API tokens, and the one question every other service asks: whose token is this, and what may it do now. */
import * as z from 'zod'
import { DisplayName, Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { BEARER_MAX } from './limits.ts'
import { operation } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'
import { GrantableRole, RoleName } from './roles.ts'
import { AudienceName, ScopeName } from './scopes.ts'

export const ApiToken = z.object({
  id: z.string(),
  name: z.string(),
  user_id: z.string(),
  user_name: z.string(),
  starts_with: z.string().describe('First characters, to tell tokens apart.'),
  role_cap: GrantableRole.describe('The token never acts above it, nor above your own role.'),
  scopes: z.array(ScopeName).nullable().describe('null: everything the role allows.'),
  audiences: z.array(AudienceName),
  created_at: Time,
  expires_at: Time.nullable(),
  last_used_at: Time.nullable(),
})

export const createToken = operation({
  name: 'tokens.create',
  summary: 'Make an API token for this organization; its value is shown once.',
  service: 'auth-service',
  input: z.object({
    name: DisplayName,
    role_cap: GrantableRole.optional().describe('Default: your own role.'),
    scopes: z
      .array(ScopeName)
      .min(1)
      .transform((scopes) => [...new Set(scopes)])
      .optional()
      .describe('Left out: everything the role allows.'),
    audiences: z
      .array(AudienceName)
      .min(1)
      .transform((audiences) => [...new Set(audiences)])
      .default(['api', 'platform', 'notifications']),
    expires_in_days: z.int().min(1).max(3650).optional().describe('Left out: it does not expire.'),
  }),
  output: z.object({ ...ApiToken.shape, token: z.string().describe('Keep it now: it is not stored.') }),
  who: 'viewer',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: false,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'CONFLICT'],
  closedToSupport: true,
  http: { method: 'post', path: '/api/v1/tokens', success: 201 },
})

export const listTokens = operation({
  name: 'tokens.list',
  summary: 'List your API tokens; owners and admins may list everybody’s.',
  service: 'auth-service',
  input: z.object({
    all: z.stringbool().default(false).describe('Every token of the organization; owner or admin.'),
    search: z.string().trim().max(120).optional().describe('Part of a token’s name.'),
    ...pageInput,
  }),
  output: z.object({ tokens: z.array(ApiToken), ...pageOutput }),
  who: 'viewer',
  scope: null,
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/v1/tokens' },
})

export const revokeToken = operation({
  name: 'tokens.revoke',
  summary: 'End an API token: your own, or as owner or admin anybody’s.',
  service: 'auth-service',
  input: z.object({ token_id: Id('tok') }),
  output: Nothing,
  who: 'viewer',
  scope: null,
  readOnly: false,
  destructive: true,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'delete', path: '/api/v1/tokens/{token_id}', success: 204 },
})

export const ValidatedToken = z.object({
  valid: z.literal(true),
  kind: z.enum(['user', 'api_token', 'actor']),
  user: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  organization: z.object({ id: z.string(), name: z.string(), slug: z.string() }).nullable(),
  role: RoleName.nullable(),
  scopes: z.array(ScopeName).nullable().describe('null: not limited by scopes.'),
  audiences: z.array(AudienceName),
  expires_at: Time.nullable(),
  token_id: z.string().optional(),
  session_id: z.string().optional(),
  client_id: z.string().optional(),
  grant_id: z.string().optional(),
  support_session_id: z.string().optional().describe('Set while support staff visit an organization.'),
  sources: z
    .array(z.string())
    .optional()
    .describe('Ids of the data sources that the grant was given for; absent: all its person may ask.'),
})

export const validateToken = operation({
  name: 'tokens.validate',
  summary: 'Say whose token this is and what it may do at this moment.',
  service: 'auth-service',
  input: z.object({
    token: z.string().min(1).max(BEARER_MAX).optional().describe('Or send it as the bearer.'),
    organization: z
      .string()
      .max(60)
      .optional()
      .describe('The organization a person means; one they are no member of is as unknown as none.'),
    audience: AudienceName.optional().describe(
      'Where it was presented; refused if it is not meant for that.',
    ),
  }),
  output: ValidatedToken,
  who: 'anyone',
  scope: null,
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED'],
  http: { method: 'post', path: '/api/v1/tokens/validate' },
})
