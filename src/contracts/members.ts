/** Members of an organization, and invitations. */
import * as z from 'zod'
import { field } from './field.ts'
import { Email, Nothing, Secret, Time } from './fields.ts'
import { Id } from './ids.ts'
import { creating, reading, removing, updating } from './operation.ts'
import { countedPageInput, countedPageOutput, pageInput, pageOutput } from './paging.ts'
import { GrantableRole, RoleName } from './roles.ts'

const orgId = { org_id: Id('org') }

export const Member = z.object({
  user_id: z.string(),
  email: z.string(),
  name: z.string(),
  role: RoleName,
  joined_at: Time,
  joined_by: z.enum(['creation', 'invitation', 'domain', 'operator', 'identity_provider', 'scim', 'machine']),
})

export const Invitation = z.object({
  id: z.string(),
  email: z.string(),
  role: GrantableRole,
  invited_by: z.string().nullable().describe('Name of the inviter; null for the operator.'),
  by_owner: z
    .boolean()
    .describe('Made by an owner or the operator: admins can neither replace nor revoke it.'),
  created_at: Time,
  expires_at: Time,
})

export const listMembers = reading({
  name: 'listMembers',
  summary: 'List members.',
  service: 'auth-service',
  input: z.object({
    ...orgId,
    role: RoleName.optional(),
    search: z.string().trim().max(120).optional().describe('Part of a name or an email address.'),
    ...countedPageInput,
  }),
  output: z.object({ members: z.array(Member), ...countedPageOutput }),
  access: 'viewer',
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: '/api/v1/orgs/{org_id}/members' },
})

export const changeMemberRole = updating({
  name: 'changeMemberRole',
  summary: 'Change the role of a member.',
  service: 'auth-service',
  input: z.object({
    ...orgId,
    user_id: Id('usr'),
    role: field(GrantableRole, { hint: 'Applies to the next call of all their tokens and agents.' }),
  }),
  output: Member,
  access: 'admin',
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToSupport: true,
  http: { method: 'patch', path: '/api/v1/orgs/{org_id}/members/{user_id}' },
})

export const removeMember = removing({
  name: 'removeMember',
  summary: 'Remove a member, or leave the organization.',
  service: 'auth-service',
  input: z.object({ ...orgId, user_id: Id('usr') }),
  output: Nothing,
  access: 'viewer',
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToSupport: true,
  http: { method: 'delete', path: '/api/v1/orgs/{org_id}/members/{user_id}', success: 204 },
})

export const inviteMember = creating({
  name: 'inviteMember',
  summary: 'Invite a person by email. Without a mail server, the invitation link is returned.',
  service: 'auth-service',
  input: z.object({
    ...orgId,
    email: field(Email, { label: 'Email address' }),
    role: GrantableRole.default('viewer'),
  }),
  output: z.object({
    ...Invitation.shape,
    invitation_url: z.string().optional().describe('Returned once, and only when no mail was sent.'),
  }),
  access: 'admin',
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  closedToCliSessions: true,
  closedToSupport: true,
  http: { method: 'post', path: '/api/v1/orgs/{org_id}/invitations', success: 201 },
})

export const listInvitations = reading({
  name: 'listInvitations',
  summary: 'List pending invitations.',
  service: 'auth-service',
  input: z.object({ ...orgId, ...pageInput }),
  output: z.object({ invitations: z.array(Invitation), ...pageOutput }),
  access: 'admin',
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: '/api/v1/orgs/{org_id}/invitations' },
})

export const revokeInvitation = removing({
  name: 'revokeInvitation',
  summary: 'Revoke an invitation.',
  service: 'auth-service',
  input: z.object({ ...orgId, invitation_id: Id('inv') }),
  output: Nothing,
  access: 'admin',
  errors: ['NOT_FOUND'],
  http: { method: 'delete', path: '/api/v1/orgs/{org_id}/invitations/{invitation_id}', success: 204 },
})

export const acceptInvitation = updating({
  name: 'acceptInvitation',
  summary: 'Accept an invitation.',
  service: 'auth-service',
  input: z.object({ token: Secret }),
  output: z.object({ id: z.string(), name: z.string(), slug: z.string(), role: RoleName }),
  access: 'session',
  errors: ['NOT_FOUND'],
  http: { method: 'post', path: '/api/v1/invitations/accept' },
})
