/** Members of an organization and the invitations that bring new ones. */
import * as z from 'zod'
import { Email, Nothing, Secret, Time } from './fields.ts'
import { Id } from './ids.ts'
import { operation } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'
import { GrantableRole, RoleName } from './roles.ts'

const orgId = { org_id: Id('org') }

export const Member = z.object({
  user_id: z.string(),
  email: z.string(),
  name: z.string(),
  role: RoleName,
  joined_at: Time,
  joined_by: z.enum(['creation', 'invitation', 'domain', 'operator']),
})

export const Invitation = z.object({
  id: z.string(),
  email: z.string(),
  role: GrantableRole,
  invited_by: z.string().nullable().describe('Name of the inviter; null for the operator.'),
  created_at: Time,
  expires_at: Time,
})

export const listMembers = operation({
  name: 'members.list',
  summary: 'List the members of an organization.',
  service: 'auth-service',
  input: z.object({
    ...orgId,
    role: RoleName.optional(),
    search: z.string().trim().max(120).optional().describe('Part of a name or an e-mail address.'),
    ...pageInput,
  }),
  output: z.object({ members: z.array(Member), ...pageOutput }),
  who: 'viewer',
  scope: null,
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'get', path: '/api/v1/orgs/{org_id}/members' },
})

export const changeRole = operation({
  name: 'members.changeRole',
  summary: 'Change the role of a member; never above your own.',
  service: 'auth-service',
  input: z.object({ ...orgId, user_id: Id('usr'), role: GrantableRole }),
  output: Member,
  who: 'admin',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
  closedToSupport: true,
  http: { method: 'patch', path: '/api/v1/orgs/{org_id}/members/{user_id}' },
})

export const removeMember = operation({
  name: 'members.remove',
  summary: 'Remove a member, or leave the organization yourself.',
  service: 'auth-service',
  input: z.object({ ...orgId, user_id: Id('usr') }),
  output: Nothing,
  who: 'viewer',
  scope: null,
  readOnly: false,
  destructive: true,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
  closedToSupport: true,
  http: { method: 'delete', path: '/api/v1/orgs/{org_id}/members/{user_id}', success: 204 },
})

export const inviteMember = operation({
  name: 'invitations.create',
  summary: 'Invite a person by e-mail, or get a link to hand over when no mail server is set.',
  service: 'auth-service',
  input: z.object({ ...orgId, email: Email, role: GrantableRole.default('viewer') }),
  output: z.object({
    ...Invitation.shape,
    invitation_url: z.string().optional().describe('Shown once, and only when no mail was sent.'),
  }),
  who: 'admin',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: false,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  closedToSupport: true,
  http: { method: 'post', path: '/api/v1/orgs/{org_id}/invitations', success: 201 },
})

export const listInvitations = operation({
  name: 'invitations.list',
  summary: 'List the invitations that still wait for an answer.',
  service: 'auth-service',
  input: z.object({ ...orgId, ...pageInput }),
  output: z.object({ invitations: z.array(Invitation), ...pageOutput }),
  who: 'admin',
  scope: null,
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'get', path: '/api/v1/orgs/{org_id}/invitations' },
})

export const revokeInvitation = operation({
  name: 'invitations.revoke',
  summary: 'Take an invitation back.',
  service: 'auth-service',
  input: z.object({ ...orgId, invitation_id: Id('inv') }),
  output: Nothing,
  who: 'admin',
  scope: null,
  readOnly: false,
  destructive: true,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'delete', path: '/api/v1/orgs/{org_id}/invitations/{invitation_id}', success: 204 },
})

export const acceptInvitation = operation({
  name: 'invitations.accept',
  summary: 'Join an organization with the secret of an invitation link.',
  service: 'auth-service',
  input: z.object({ token: Secret }),
  output: z.object({ id: z.string(), name: z.string(), slug: z.string(), role: RoleName }),
  who: 'person',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'post', path: '/api/v1/invitations/accept' },
})
