/** The audit trail: who did what in an organization, in the words of a closed list. */
import * as z from 'zod'
import { Time } from './fields.ts'
import { Id } from './ids.ts'
import { operation } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'

/** Every action that leaves a row, with the words the console shows. */
export const AUDIT_ACTIONS = {
  'organization.created': 'created the organization',
  'organization.updated': 'changed the organization',
  'organization.domains_set': 'set the e-mail domains',
  'agents.switched_on': 'switched agents on',
  'agents.switched_off': 'switched agents off',
  'member.joined': 'joined',
  'member.role_changed': 'changed a role',
  'member.removed': 'removed a member',
  'member.left': 'left',
  'invitation.created': 'invited',
  'invitation.revoked': 'took an invitation back',
  'invitation.accepted': 'accepted an invitation',
  'token.created': 'made an API token',
  'token.revoked': 'ended an API token',
  'session.started': 'signed in',
  'session.ended': 'signed out',
  'session.all_ended': 'signed out everywhere',
  'session.reused': 'presented an outdated session token; the session was ended',
  'password.changed': 'changed the password',
  'grant.created': 'connected an agent',
  'grant.narrowed': 'narrowed an agent',
  'grant.revoked': 'disconnected an agent',
  'grant.reused': 'presented a spent refresh token; the agent was disconnected',
  'client.blocked': 'blocked a client',
  'client.unblocked': 'let a client in again',
  'client.switched_off': 'switched a client off everywhere',
  'client.switched_on': 'switched a client on again',
  'database.created': 'made a database',
  'database.attached': 'attached a database',
  'database.removed': 'removed a database',
  'database.connection_shown': 'read a connection string',
  'data_source.configured': 'saved a search configuration',
  'data_source.described': 'renamed or described a data source',
  'data_source.switched_on': 'switched a data source on',
  'data_source.switched_off': 'switched a data source off',
  'data_source.exposed': 'exposed a data source',
  'data_source.hidden': 'hid a data source',
  'app.created': 'made an app',
  'app.renamed': 'renamed an app',
  'app.member_set': 'put somebody on an app',
  'app.member_removed': 'took somebody off an app',
  'ticket.filed': 'filed a ticket',
  'ticket.replied': 'answered a ticket',
  'ticket.noted': 'left a note on a ticket',
  'ticket.moved': 'moved a ticket',
  'support.started': 'let support staff in',
  'support.elevated': 'raised a visit of support staff to admin',
  'support.ended': 'ended a visit of support staff',
  'support.switched_on': 'switched support access on',
  'support.switched_off': 'switched support access off',
  'integration.connected': 'connected a channel',
  'integration.changed': 'changed a connection',
  'integration.removed': 'removed a connection',
  'subscription.created': 'made a subscription',
  'subscription.changed': 'changed a subscription',
  'subscription.deleted': 'deleted a subscription',
  'subscription.tested': 'sent a test event',
  'subscription.unsubscribed': 'unsubscribed by a link in a mail',
  'follow.changed': 'changed what they follow',
  'chat.linked': 'linked a chat account',
  'chat.unlinked': 'unlinked a chat account',
  'delivery.replayed': 'sent notifications again',
} as const

export type AuditAction = keyof typeof AUDIT_ACTIONS
const AuditActionName = z.enum(Object.keys(AUDIT_ACTIONS) as [AuditAction, ...AuditAction[]])

export const AuditEntry = z.object({
  id: z.string(),
  at: Time,
  action: AuditActionName,
  actor: z
    .object({
      kind: z.enum(['user', 'api_token', 'actor', 'operator', 'system']),
      id: z.string().nullable(),
      name: z.string(),
    })
    .describe('Who did it, and by which kind of credential.'),
  subject: z.string().nullable().describe('What it was done to: a person, a token, a role.'),
  request_id: z.string().nullable(),
  support_session_id: z.string().nullable().describe('Set when it was done during a visit of support staff.'),
})

export const listAudit = operation({
  name: 'audit.list',
  summary: 'Read the audit trail of an organization, newest first.',
  service: 'auth-service',
  input: z.object({
    org_id: Id('org'),
    action: AuditActionName.optional(),
    user_id: Id('usr').optional().describe('Only what this person did.'),
    from: z.iso.datetime().optional(),
    to: z.iso.datetime().optional(),
    ...pageInput,
  }),
  output: z.object({ audit: z.array(AuditEntry), ...pageOutput }),
  who: 'admin',
  scope: null,
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'get', path: '/api/v1/orgs/{org_id}/audit' },
})
