/** Support sessions: staff named by the operator act in an organization for at most an hour; owners see and end them. */
import * as z from 'zod'
import { Email, Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { creating, reading, removing, updating } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'

const Reason = z.string().trim().min(3).max(500).describe('Visible to the owners.')

const SupportSession = z.object({
  id: z.string(),
  staff: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  reason: z.string(),
  level: z.enum(['viewer', 'admin']),
  elevation_reason: z.string().nullable(),
  live: z.boolean(),
  started_at: Time,
  expires_at: Time,
  ended_at: Time.nullable(),
})

export const startSupportSession = creating({
  service: 'auth-service',
  name: 'startSupportSession',
  summary: 'Start a support session for a member of staff. It lasts at most an hour.',
  input: z.object({
    org: z.string().min(1).max(80).describe('Id or slug.'),
    staff_email: Email.describe('Verified email address of a user.'),
    reason: Reason,
    minutes: z.int().min(1).max(60).default(60),
  }),
  output: SupportSession.extend({ org_id: z.string() }),
  access: 'operator',
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: '/api/v1/admin/support-sessions', success: 201 },
})

export const elevateSupportSession = updating({
  service: 'auth-service',
  name: 'elevateSupportSession',
  summary: 'Elevate your support session to admin. Owners and admins are notified.',
  closedToSupport: false,
  input: z.object({ support_session_id: Id('sup'), reason: Reason }),
  output: SupportSession,
  access: 'viewer',
  errors: ['NOT_FOUND'],
  http: { method: 'post', path: '/api/v1/support-sessions/{support_session_id}/elevate' },
})

export const listSupportSessions = reading({
  service: 'auth-service',
  name: 'listSupportSessions',
  summary: 'List the support sessions of the organization, newest first.',
  input: z.object({ ...pageInput }),
  output: z.object({ support_sessions: z.array(SupportSession), ...pageOutput }),
  access: 'viewer',
  http: { method: 'get', path: '/api/v1/support-sessions' },
})

export const endSupportSession = removing({
  service: 'auth-service',
  name: 'endSupportSession',
  summary: 'End a support session.',
  closedToSupport: false,
  input: z.object({ support_session_id: Id('sup') }),
  output: Nothing,
  access: 'viewer',
  errors: ['NOT_FOUND'],
  http: { method: 'delete', path: '/api/v1/support-sessions/{support_session_id}', success: 204 },
})

export const listMySupportSessions = reading({
  service: 'auth-service',
  name: 'listMySupportSessions',
  summary: 'List your own live support sessions, as a member of staff.',
  input: z.object({ ...pageInput }),
  output: z.object({
    support_sessions: z.array(
      z.object({
        id: z.string(),
        organization: z.object({ id: z.string(), name: z.string(), slug: z.string() }),
        level: z.enum(['viewer', 'admin']),
        expires_at: Time,
      }),
    ),
    ...pageOutput,
  }),
  access: 'person',
  http: { method: 'get', path: '/api/v1/support-sessions/mine' },
})
