/** Machine agents: agents without a person, for the endpoint /platform. A member answers for each. */
import * as z from 'zod'
import { SourceId } from './data-sources.ts'
import { field } from './field.ts'
import { DisplayName, Nothing, PurposeName, ScopeName, Time } from './fields.ts'
import { Grant } from './grants.ts'
import { Id } from './ids.ts'
import { EXPOSED_MAX, MACHINE_AGENT_DAYS } from './limits.ts'
import { creating, reading, removing, updating } from './operation.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'
import { atLeast, GrantableRole, RoleName, type Role } from './roles.ts'
import { rotationInput } from './rotation.ts'
import { DEFAULT_SCOPES, MACHINE_AGENT_SCOPES, SENSITIVE_SCOPES, type Scope } from './scopes.ts'

const CREDENTIAL_KINDS = ['secret', 'public_key'] as const
export type MachineAgentCredentialKind = (typeof CREDENTIAL_KINDS)[number]

/**
 * `disconnected`: its grant was revoked, and it cannot come back. The others end: `owner_left` with another owner,
 * `blocked` when its client is unblocked, `no_credentials` with a new one.
 */
export const MACHINE_AGENT_STATES = [
  'active',
  'expired',
  'disconnected',
  'owner_left',
  'blocked',
  'no_credentials',
] as const
export type MachineAgentState = (typeof MACHINE_AGENT_STATES)[number]

const MachineAgentCredential = z.object({
  id: z.string(),
  kind: z.enum(CREDENTIAL_KINDS),
  starts_with: z
    .string()
    .nullable()
    .describe('The first characters of a secret, or the thumbprint of a public key.'),
  created_at: Time,
  last_used_at: Time.nullable(),
  expires_at: Time.nullable().describe(
    'When the API token that made it expires, or until when it works after it was rotated; null: with its agent.',
  ),
  replaced_by: z.string().nullable().describe('The credential that it was rotated to.'),
})

export const MachineAgent = z.object({
  id: z.string(),
  client_id: z.string().describe('With it, and a credential, the agent gets its tokens.'),
  name: z.string(),
  role: GrantableRole.describe('The highest role it acts with.'),
  current_role: RoleName.nullable().describe(
    'The role it acts with now: never above its owner’s. null: its owner is not a member any more.',
  ),
  owner: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  user_id: z.string().describe('Who the activity and the audit trail say it was.'),
  state: z.enum(MACHINE_AGENT_STATES),
  grant_id: z
    .string()
    .nullable()
    .describe(
      'Its grant: narrow or revoke it like any other. Another one after a credential was revoked. null: it was revoked.',
    ),
  scopes: z.array(ScopeName),
  sources: Grant.shape.sources.describe('The data sources it is limited to; null: all its role may query.'),
  credentials: z.array(MachineAgentCredential),
  created_at: Time,
  expires_at: Time,
  last_used_at: Time.nullable(),
})

/** Whoever gets a credential of it, or chooses who answers for it, can use what it may do. */
export const mayGive = (
  giver: Role,
  { role, scopes }: { readonly role: GrantableRole; readonly scopes: readonly Scope[] },
): boolean => atLeast(giver, role) && (giver === 'owner' || !hasSensitive(scopes))

const hasSensitive = (scopes: readonly Scope[]): boolean =>
  scopes.some((scope) => (SENSITIVE_SCOPES as readonly Scope[]).includes(scope))

const machineAgents = { service: 'auth-service', access: 'admin' } as const
const agentId = { machine_agent_id: Id('mch') }
const CredentialId = field(Id('crd'), { client: 'crd_…, from `svc agents machines show`' })

const PublicKey = field(
  z
    .looseObject({ kty: z.enum(['EC', 'OKP', 'RSA']) })
    .describe('A public key as JWK, for `private_key_jwt`: P-256, Ed25519, or RSA of 2048 bits and more.'),
  {
    label: 'Public key as JWK',
    hint: 'P-256, Ed25519, or RSA of 2048 bits and more.',
    example: '{"kty":"EC","crv":"P-256","x":"…","y":"…"}',
    rows: 4,
    maxLength: 4_000,
    client: {
      value: 'file',
      summary: 'Public key as JWK, - for stdin (default: a secret is made)',
      file: 'the public key',
    },
  },
)
const OwnerId = field(Id('usr'), {
  client: { value: 'user_id', summary: 'Member who answers for it (default you)' },
})
const Expiry = field(Time, {
  client: `ISO 8601 date or time, at most ${MACHINE_AGENT_DAYS} days ahead (default)`,
})

const secret = z
  .string()
  .nullable()
  .describe('Store it now: it is not returned again. null: a public key was given.')

const SECRET_NOTES = [{ if: 'secret', text: 'Store the secret now: it is not shown again.' }]
const AGENT_TABLE =
  'AGENT=id, name, state, role, owner.email, scopes:words, sources:sources, expires_at, last_used_at'

export const createMachineAgent = creating({
  ...machineAgents,
  name: 'createMachineAgent',
  summary: 'Create a machine agent. Its secret is returned once.',
  input: z.object({
    name: PurposeName,
    role: field(GrantableRole.default('viewer').describe('At most your own.'), {
      hint: 'It never exceeds this role or the current role of its owner.',
    }),
    owner_id: OwnerId.optional().describe('The member who answers for it. Default: you.'),
    expires_at: Expiry.optional().describe(
      `At most ${MACHINE_AGENT_DAYS} days from now, which is the default.`,
    ),
    scopes: field(
      z
        .array(z.enum(MACHINE_AGENT_SCOPES))
        .min(1)
        .transform((scopes) => [...new Set(scopes)])
        .default([...DEFAULT_SCOPES.platform])
        .describe('`maintenance:admin` can only be given by an owner.'),
      { client: `What it may do (default ${DEFAULT_SCOPES.platform.join(' and ')})` },
    ),
    sources: field(
      z
        .array(SourceId)
        .max(EXPOSED_MAX)
        .optional()
        .describe('The only data sources it may query. Default: all its role may query.'),
      { client: { value: 'source_id', summary: 'Only these data sources (default all)', values: 'sources' } },
    ),
    public_key: PublicKey.optional().describe('Default: a secret is made.'),
  }),
  output: MachineAgent.extend({ secret }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToCliSessions: true,
  closedToSupport: true,
  command: {
    path: 'agents machines create',
    summary: 'Create an agent without a person, for the endpoint /platform (admin or higher)',
    arguments: ['name'],
    fields: 'id, name, client_id, secret?, expires_at',
    notes: SECRET_NOTES,
    examples: [
      'svc agents machines create nightly-report --scope data:read --source db_handbook',
      'svc agents machines create ci --public-key ci.jwk.json --expires-at 2027-03-01',
    ],
  },
  http: { method: 'post', path: '/api/v1/machine-agents', success: 201 },
})

export const listMachineAgents = reading({
  ...machineAgents,
  name: 'listMachineAgents',
  summary: 'List the machine agents you answer for. Owners and admins see everybody’s.',
  input: z.object({
    search: z.string().trim().max(120).optional().describe('Part of its name, or its whole id or client id.'),
    ...countedPageInput,
  }),
  output: z.object({ machine_agents: z.array(MachineAgent), ...countedPageOutput }),
  access: 'viewer',
  command: {
    path: 'agents machines',
    summary: 'List the machine agents you answer for; all of them for an admin or owner',
    table: AGENT_TABLE,
    examples: ['svc agents machines', 'svc agents machines --search nightly --json'],
  },
  http: { method: 'get', path: '/api/v1/machine-agents' },
})

export const showMachineAgent = reading({
  ...machineAgents,
  name: 'showMachineAgent',
  summary: 'Show a machine agent.',
  input: z.object(agentId),
  output: MachineAgent,
  access: 'viewer',
  errors: ['NOT_FOUND'],
  command: {
    path: 'agents machines show',
    summary: 'Show a machine agent and its credentials',
    fields:
      'id, name, client_id, state, role, current_role, owner.email, scopes:words, sources:sources, grant_id, credentials:credentials, expires_at, last_used_at',
    examples: ['svc agents machines show mch_0mwhkcyh5nlh1pqqssy5gj19q'],
  },
  http: { method: 'get', path: '/api/v1/machine-agents/{machine_agent_id}' },
})

export const updateMachineAgent = updating({
  ...machineAgents,
  name: 'updateMachineAgent',
  summary: 'Change the name, the owner or the expiry of a machine agent.',
  input: z.object({
    ...agentId,
    name: DisplayName.optional(),
    owner_id: OwnerId.optional().describe('A member of the organization.'),
    expires_at: Expiry.optional().describe(`At most ${MACHINE_AGENT_DAYS} days from now.`),
  }),
  output: MachineAgent,
  errors: ['NOT_FOUND'],
  closedToSupport: true,
  command: {
    path: 'agents machines update',
    summary: 'Change the name, owner or expiry of a machine agent (admin or higher)',
    atLeastOne: { problem: 'Nothing to change', hint: 'Add --name, --owner or --expires-at' },
    table: AGENT_TABLE,
    examples: ['svc agents machines update mch_0mwhkcyh5nlh1pqqssy5gj19q --expires-at 2027-03-01'],
  },
  http: { method: 'patch', path: '/api/v1/machine-agents/{machine_agent_id}' },
})

export const addMachineAgentCredential = creating({
  ...machineAgents,
  name: 'addMachineAgentCredential',
  summary: 'Add a secret or a public key to a machine agent, to rotate it. A secret is returned once.',
  input: z.object({ ...agentId, public_key: PublicKey.optional().describe('Default: a secret is made.') }),
  output: MachineAgentCredential.extend({ secret }),
  access: 'viewer',
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToCliSessions: true,
  closedToSupport: true,
  command: {
    path: 'agents machines add-credential',
    summary: 'Add a second secret or public key to a machine agent, to rotate it',
    fields: 'id, kind, secret?',
    notes: SECRET_NOTES,
    examples: ['svc agents machines add-credential mch_0mwhkcyh5nlh1pqqssy5gj19q'],
  },
  http: { method: 'post', path: '/api/v1/machine-agents/{machine_agent_id}/credentials', success: 201 },
})

export const rotateMachineAgentCredential = creating({
  ...machineAgents,
  name: 'rotateMachineAgentCredential',
  summary:
    'Replace a credential of a machine agent by a new one, with the same expiry. A secret is returned once.',
  input: z.object({
    ...agentId,
    credential_id: CredentialId,
    ...rotationInput,
    public_key: field(PublicKey, {
      client: {
        value: 'file',
        summary: 'The new key as JWK, of a public key; - for stdin',
        file: 'the public key',
      },
    })
      .optional()
      .describe('The new key of a public key. Not for a secret: that is made.'),
  }),
  output: MachineAgentCredential.extend({ secret }),
  access: 'viewer',
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToCliSessions: true,
  closedToSupport: true,
  command: {
    path: 'agents machines rotate-credential',
    summary: 'Replace a secret or key of a machine agent; the old one works for a day, or as long as you say',
    fields: 'id, kind, secret?',
    notes: SECRET_NOTES,
    examples: [
      'svc agents machines rotate-credential mch_0mwhkcyh5nlh1pqqssy5gj19q crd_0mwhkcyh5nlh1pqqssy5gj19q',
    ],
  },
  http: {
    method: 'post',
    path: '/api/v1/machine-agents/{machine_agent_id}/credentials/{credential_id}/rotate',
    success: 201,
  },
})

export const revokeMachineAgentCredential = removing({
  ...machineAgents,
  name: 'revokeMachineAgentCredential',
  summary: 'Revoke a credential of a machine agent, the one it is being rotated to, and every token so far.',
  input: z.object({ ...agentId, credential_id: CredentialId }),
  output: Nothing,
  access: 'viewer',
  errors: ['NOT_FOUND'],
  closedToSupport: true,
  command: {
    path: 'agents machines revoke-credential',
    summary: 'Revoke a credential of a machine agent and all its tokens',
    confirm:
      'This revokes {credential_id}, and all tokens of the agent. With another credential it gets new ones.',
    done: 'Revoked {credential_id}',
    examples: [
      'svc agents machines revoke-credential mch_0mwhkcyh5nlh1pqqssy5gj19q crd_0mwhkcyh5nlh1pqqssy5gj19q --yes',
    ],
  },
  http: {
    method: 'delete',
    path: '/api/v1/machine-agents/{machine_agent_id}/credentials/{credential_id}',
    success: 204,
  },
})

export const removeMachineAgent = removing({
  ...machineAgents,
  name: 'removeMachineAgent',
  summary: 'Remove a machine agent. Its tokens end with it.',
  input: z.object(agentId),
  output: Nothing,
  access: 'viewer',
  errors: ['NOT_FOUND'],
  closedToSupport: true,
  command: {
    path: 'agents machines remove',
    summary: 'Remove a machine agent',
    confirm: 'This removes {machine_agent_id}. It loses access on its next call.',
    done: 'Removed {machine_agent_id}',
    examples: ['svc agents machines remove mch_0mwhkcyh5nlh1pqqssy5gj19q --yes'],
  },
  http: { method: 'delete', path: '/api/v1/machine-agents/{machine_agent_id}', success: 204 },
})
