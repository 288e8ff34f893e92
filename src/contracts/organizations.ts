/** Organizations: what they are, who makes them, what their owners may set. */
import * as z from 'zod'
import { DisplayName, Email, Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { operation } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'
import { GrantableRole, RoleName } from './roles.ts'

const OrganizationFields = {
  id: z.string(),
  name: z.string(),
  slug: z.string(),
}

export const Organization = z.object({
  ...OrganizationFields,
  role: RoleName.describe('Your role in it.'),
  domains: z.array(z.string()).describe('E-mail domains whose people join on first sign-in.'),
  agents_enabled: z.boolean().describe('Off: no agent and no API token at the MCP endpoints gets in.'),
  admins_may_invite: z.boolean().describe('On: admins invite too, up to admin.'),
  timezone: z.string().describe('Of daily and hourly messages, such as Europe/Vienna.'),
  support_access_enabled: z.boolean().describe('Off: support staff cannot enter, and visits end.'),
  created_at: Time,
})

/** By name, because an offset would be wrong for half of the year. */
const Timezone = z.string().max(64).refine(isTimezone, 'must be a time zone such as Europe/Vienna or UTC')

function isTimezone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

const orgId = { org_id: Id('org') }

export const createOrganization = operation({
  name: 'organizations.create',
  summary: 'Create an organization; you become its owner.',
  service: 'auth-service',
  input: z.object({ name: DisplayName }),
  output: z.object({ ...OrganizationFields, role: RoleName }),
  who: 'person',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: false,
  takesIdempotencyKey: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'CONFLICT'],
  http: { method: 'post', path: '/api/v1/orgs', success: 201 },
})

export const listOrganizations = operation({
  name: 'organizations.list',
  summary: 'List the organizations you belong to.',
  service: 'auth-service',
  input: z.object({ ...pageInput }),
  output: z.object({ organizations: z.array(Organization), ...pageOutput }),
  who: 'person',
  scope: null,
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/v1/orgs' },
})

export const showOrganization = operation({
  name: 'organizations.show',
  summary: 'Show one organization.',
  service: 'auth-service',
  input: z.object({ ...orgId }),
  output: Organization,
  who: 'viewer',
  scope: null,
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'get', path: '/api/v1/orgs/{org_id}' },
})

export const updateOrganization = operation({
  name: 'organizations.update',
  summary:
    'Change an organization: its name, its time zone, who invites, whether agents and support staff get in.',
  service: 'auth-service',
  input: z.object({
    ...orgId,
    name: DisplayName.optional(),
    agents_enabled: z.boolean().optional(),
    admins_may_invite: z.boolean().optional().describe('Owners only.'),
    timezone: Timezone.optional(),
    support_access_enabled: z.boolean().optional().describe('Owners only.'),
  }),
  output: Organization,
  who: 'admin',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'patch', path: '/api/v1/orgs/{org_id}' },
})

const Domain = z
  .string()
  .trim()
  .toLowerCase()
  .max(253)
  .regex(
    /^(?=.*\.)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/,
    'must be a domain such as example.com',
  )

const AdminOrganization = z.object({
  ...OrganizationFields,
  domains: z.array(z.string()),
  created_at: Time,
})

export const createOrganizationForAdmin = operation({
  name: 'organizations.createForAdmin',
  summary: 'Create an organization with its e-mail domains and its first owner.',
  service: 'auth-service',
  input: z.object({
    name: DisplayName,
    domains: z.array(Domain).max(50).default([]),
    admin_email: Email.optional(),
    admin_name: DisplayName.optional(),
  }),
  output: z.object({
    ...AdminOrganization.shape,
    owner: z
      .object({
        id: z.string(),
        email: z.string(),
        name: z.string(),
        role: GrantableRole,
        created: z.boolean().describe('False when a person with this verified e-mail existed and was added.'),
        invitation_url: z
          .string()
          .optional()
          .describe('Where a new owner takes the account over; absent when it went out by mail.'),
      })
      .nullable(),
  }),
  who: 'operator',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: false,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'CONFLICT'],
  http: { method: 'post', path: '/api/v1/admin/orgs', success: 201 },
})

export const listOrganizationsForAdmin = operation({
  name: 'organizations.listForAdmin',
  summary: 'List every organization of this installation.',
  service: 'auth-service',
  input: z.object({ ...pageInput }),
  output: z.object({ organizations: z.array(AdminOrganization), ...pageOutput }),
  who: 'operator',
  scope: null,
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/v1/admin/orgs' },
})

export const setOrganizationDomains = operation({
  name: 'organizations.setDomains',
  summary: 'Replace the e-mail domains of an organization.',
  service: 'auth-service',
  input: z.object({ ...orgId, domains: z.array(Domain).max(50) }),
  output: AdminOrganization,
  who: 'operator',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
  http: { method: 'put', path: '/api/v1/admin/orgs/{org_id}/domains' },
})

export const chooseOrganization = operation({
  name: 'organizations.choose',
  summary: 'Make an organization the one your session works in.',
  service: 'auth-service',
  input: z.object({ ...orgId }),
  output: Nothing,
  who: 'viewer',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  closedToSupport: true,
  http: { method: 'put', path: '/api/v1/orgs/{org_id}/choice', success: 204 },
})
