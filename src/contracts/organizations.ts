/** Organizations and their settings. */
import * as z from 'zod'
import { field } from './field.ts'
import { DisplayName, Email, Nothing, Time, Timezone } from './fields.ts'
import { IDENTITY_PROVIDER_USES } from './identity-provider-states.ts'
import { Id } from './ids.ts'
import { UNUSED_AFTER_DAYS } from './limits.ts'
import { creating, reading, removing, updating } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'
import { Receipt } from './receipts.ts'
import { GrantableRole, RoleName } from './roles.ts'

const OrganizationFields = {
  id: z.string(),
  name: z.string(),
  slug: z.string(),
}

const RegisteredClientsChoice = z.enum(['allowed', 'refused'])
export type RegisteredClients = z.output<typeof RegisteredClientsChoice>

const DaysUnused = z.int().min(UNUSED_AFTER_DAYS.min).max(UNUSED_AFTER_DAYS.max).nullable()

export const Organization = z.object({
  ...OrganizationFields,
  role: RoleName.describe('Your role in it.'),
  domains: z.array(z.string()).describe('People with an address in these domains join on sign-in.'),
  agents_enabled: z.boolean().describe('Off: agents and API tokens are refused at the MCP endpoints.'),
  registered_clients: RegisteredClientsChoice.describe(
    'Refused: clients that registered themselves can neither be connected nor call.',
  ),
  identity_provider: z
    .enum(IDENTITY_PROVIDER_USES)
    .default('none')
    .describe('Whether agents connect through its identity provider. `required`: only through it.'),
  admins_may_invite: z.boolean().describe('On: admins may invite, up to admin.'),
  timezone: z.string().describe('For digests, such as Europe/Vienna.'),
  support_access_enabled: z.boolean().describe('Off: no support sessions can start, and live ones end.'),
  narrow_unused_after_days: DaysUnused.default(null).describe(
    'What an agent has not used for so many days is taken from it; null: never.',
  ),
  end_unused_after_days: DaysUnused.default(null).describe(
    'An agent that was not used for so many days ends; null: never.',
  ),
  created_at: Time,
})

const orgId = { org_id: Id('org') }

export const createOrganization = creating({
  name: 'createOrganization',
  summary: 'Create an organization. You become its owner.',
  service: 'auth-service',
  input: z.object({ name: DisplayName }),
  output: z.object({ ...OrganizationFields, role: RoleName }),
  access: 'session',
  takesIdempotencyKey: true,
  errors: ['CONFLICT'],
  http: { method: 'post', path: '/api/v1/orgs', success: 201 },
})

export const listOrganizations = reading({
  name: 'listOrganizations',
  summary: 'List your organizations.',
  service: 'auth-service',
  input: z.object({ ...pageInput }),
  output: z.object({ organizations: z.array(Organization), ...pageOutput }),
  access: 'person',
  http: { method: 'get', path: '/api/v1/orgs' },
})

export const showOrganization = reading({
  name: 'showOrganization',
  summary: 'Retrieve an organization.',
  service: 'auth-service',
  input: z.object({ ...orgId }),
  output: Organization,
  access: 'viewer',
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: '/api/v1/orgs/{org_id}' },
})

const SWITCHED_FIELDS = 'organization=name, assistants=agents_enabled:switch'

export const updateOrganization = updating({
  name: 'updateOrganization',
  summary: 'Update an organization.',
  service: 'auth-service',
  input: z.object({
    ...orgId,
    name: DisplayName.optional(),
    agents_enabled: z.boolean().optional(),
    registered_clients: RegisteredClientsChoice.optional(),
    admins_may_invite: z.boolean().optional().describe('Owners only.'),
    timezone: field(Timezone, {
      hint: 'For example Europe/Vienna. Daily messages are sent at 09:00 in this time zone.',
    }).optional(),
    support_access_enabled: z.boolean().optional().describe('Owners only.'),
    narrow_unused_after_days: field(DaysUnused, {
      label: 'Narrow after days without use',
      hint: 'What an agent has not used for so many days is taken from it. Its person is told a week before, and then again. Empty: never.',
    }).optional(),
    end_unused_after_days: field(DaysUnused, {
      label: 'Disconnect after days without a call',
      hint: 'An agent without a single call for so many days is disconnected. Its person is told a week before, and then again. Empty: never.',
    }).optional(),
  }),
  output: Organization,
  access: 'admin',
  errors: ['NOT_FOUND'],
  command: [
    {
      path: 'agents off',
      summary: 'Turn off access for all assistants (admin or higher)',
      always: { agents_enabled: false },
      confirm: 'This turns off access for all assistants until you run `svc agents on`.',
      fields: SWITCHED_FIELDS,
      examples: ['svc agents off --yes'],
    },
    {
      path: 'agents on',
      summary: 'Turn access for assistants back on (admin or higher)',
      always: { agents_enabled: true },
      fields: SWITCHED_FIELDS,
      examples: ['svc agents on'],
    },
  ],
  http: { method: 'patch', path: '/api/v1/orgs/{org_id}' },
})

const confirm = {
  confirm: field(z.string().max(200), { label: 'Name of the organization' }).describe(
    'The name of the organization: this cannot be undone.',
  ),
}

export const removeOrganization = removing({
  name: 'removeOrganization',
  summary:
    'Remove an organization: ends all access to it, deletes its databases and everything else, and leaves its sealed trail for a while. Only by a signed-in session.',
  service: 'auth-service',
  input: z.object({ ...orgId, ...confirm }),
  output: Receipt,
  access: 'owner',
  errors: ['NOT_FOUND'],
  closedToSupport: true,
  http: { method: 'delete', path: '/api/v1/orgs/{org_id}' },
})

export const removeOrganizationAsOperator = removing({
  name: 'removeOrganizationAsOperator',
  summary:
    'Remove an organization, as its owners can. Of one that is removed, whoever did it: its receipt, while its trail is kept.',
  service: 'auth-service',
  input: z.object({ ...orgId, ...confirm }),
  output: Receipt,
  access: 'operator',
  errors: ['NOT_FOUND'],
  http: { method: 'delete', path: '/api/v1/admin/orgs/{org_id}' },
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

const NamedOwner = z.object({
  id: z
    .string()
    .nullable()
    .describe('Null when an account with this address has not verified it: it is invited, not added.'),
  email: z.string(),
  name: z.string(),
  role: GrantableRole,
  created: z.boolean().describe('True when an account was created, which waits for the invitation.'),
  invitation_url: z.string().optional().describe('Where the owner accepts; absent when it was mailed.'),
})

export const createOrganizationAsOperator = creating({
  name: 'createOrganizationAsOperator',
  summary: 'Create an organization with its email domains and first owner.',
  service: 'auth-service',
  input: z.object({
    name: DisplayName,
    domains: z.array(Domain).max(50).default([]),
    admin_email: Email.optional(),
    admin_name: DisplayName.optional(),
  }),
  output: z.object({ ...AdminOrganization.shape, owner: NamedOwner.nullable() }),
  access: 'operator',
  errors: ['CONFLICT', 'RATE_LIMITED'],
  http: { method: 'post', path: '/api/v1/admin/orgs', success: 201 },
})

export const addOwnerAsOperator = creating({
  name: 'addOwnerAsOperator',
  summary: 'Add an owner to an organization that has none.',
  service: 'auth-service',
  input: z.object({ ...orgId, email: Email }),
  output: NamedOwner,
  access: 'operator',
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  http: { method: 'post', path: '/api/v1/admin/orgs/{org_id}/owners', success: 201 },
})

export const listOrganizationsAsOperator = reading({
  name: 'listOrganizationsAsOperator',
  summary: 'List all organizations of the installation.',
  service: 'auth-service',
  input: z.object({ ...pageInput }),
  output: z.object({ organizations: z.array(AdminOrganization), ...pageOutput }),
  access: 'operator',
  http: { method: 'get', path: '/api/v1/admin/orgs' },
})

export const setOrganizationDomains = updating({
  name: 'setOrganizationDomains',
  summary: 'Replace the email domains of an organization.',
  service: 'auth-service',
  input: z.object({ ...orgId, domains: z.array(Domain).max(50) }),
  output: AdminOrganization,
  access: 'operator',
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'put', path: '/api/v1/admin/orgs/{org_id}/domains' },
})

export const switchOrganization = updating({
  name: 'switchOrganization',
  summary: 'Set the current organization of your session.',
  service: 'auth-service',
  input: z.object({ ...orgId }),
  output: Nothing,
  access: 'viewer',
  errors: ['NOT_FOUND'],
  closedToSupport: true,
  http: { method: 'put', path: '/api/v1/orgs/{org_id}/choice', success: 204 },
})
