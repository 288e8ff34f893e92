/** The audit trail: who did what in an organization, as a closed list of actions. */
import * as z from 'zod'
import { Time } from './fields.ts'
import { Id } from './ids.ts'
import { reading } from './operation.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'

/** Every audited action, with the text that the console shows. */
export const AUDIT_ACTIONS = {
  'organization.created': 'created the organization',
  'organization.updated': 'changed the organization',
  'organization.domains_set': 'set the email domains',
  'agents.switched_on': 'turned agents on',
  'agents.switched_off': 'turned agents off',
  'owner.added': 'added an owner',
  'member.joined': 'joined',
  'member.role_changed': 'changed a role',
  'member.removed': 'removed a member',
  'member.left': 'left',
  'invitation.created': 'invited',
  'invitation.revoked': 'revoked an invitation',
  'invitation.accepted': 'accepted an invitation',
  'token.created': 'created an API token',
  'token.revoked': 'revoked an API token',
  'session.started': 'signed in',
  'session.ended': 'signed out',
  'session.all_ended': 'signed out everywhere',
  'session.reused': 'reused an old session token; the session was ended',
  'password.changed': 'changed the password',
  'access.ended': 'ended access',
  'profile.changed': 'changed their profile',
  'profile.email_lost': 'took an unverified email address from an account, because somebody else verified it',
  'grant.created': 'connected an agent',
  'grant.narrowed': 'limited an agent',
  'grant.revoked': 'disconnected an agent',
  'grant.reused': 'reused a refresh token; the agent was disconnected',
  'client.blocked': 'blocked a client',
  'client.unblocked': 'unblocked a client',
  'client.switched_off': 'turned a client off everywhere',
  'client.switched_on': 'turned a client on again',
  'database.created': 'created a database',
  'database.attached': 'attached a database',
  'database.removed': 'removed a database',
  'database.connection_shown': 'viewed a connection string',
  'data_source.configured': 'saved a search configuration',
  'data_source.described': 'edited a data source',
  'data_source.switched_on': 'turned a data source on',
  'data_source.switched_off': 'turned a data source off',
  'data_source.exposed': 'exposed a data source',
  'data_source.hidden': 'hid a data source',
  'app.created': 'created an app',
  'app.renamed': 'renamed an app',
  'app.member_set': 'added a person to an app',
  'app.member_removed': 'removed a person from an app',
  'ticket.filed': 'created a ticket',
  'ticket.replied': 'replied to a ticket',
  'ticket.noted': 'added a note to a ticket',
  'ticket.moved': 'changed the status of a ticket',
  'support.started': 'started a support session',
  'support.elevated': 'elevated a support session to admin',
  'support.ended': 'ended a support session',
  'support.switched_on': 'turned support access on',
  'support.switched_off': 'turned support access off',
  'integration.connected': 'connected an integration',
  'integration.verified': 'confirmed an email address by its link',
  'integration.changed': 'changed an integration',
  'integration.removed': 'removed an integration',
  'subscription.created': 'created a subscription',
  'subscription.changed': 'changed a subscription',
  'subscription.deleted': 'deleted a subscription',
  'subscription.tested': 'sent a test event',
  'subscription.unsubscribed': 'unsubscribed by an email link',
  'follow.changed': 'changed their notification settings',
  'chat.linked': 'linked a chat account',
  'chat.unlinked': 'unlinked a chat account',
  'delivery.replayed': 'replayed deliveries',
  'delivery.retried': 'retried a delivery before its time',
  'delivery.recovered': 'started recovering what an integration missed',
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
  subject: z.string().nullable().describe('What it was done to: a user, a token, a role.'),
  request_id: z.string().nullable(),
  support_session_id: z.string().nullable().describe('Set when it was done in a support session.'),
})

export const listAudit = reading({
  name: 'listAudit',
  summary: 'List the audit trail of an organization, newest first.',
  service: 'auth-service',
  input: z.object({
    org_id: Id('org'),
    action: AuditActionName.optional(),
    user_id: Id('usr').optional().describe('Only actions of this user.'),
    from: z.iso.datetime().optional(),
    to: z.iso.datetime().optional(),
    ...countedPageInput,
  }),
  output: z.object({ audit: z.array(AuditEntry), ...countedPageOutput }),
  access: 'admin',
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: '/api/v1/orgs/{org_id}/audit' },
})
