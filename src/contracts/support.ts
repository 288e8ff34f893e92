/** Support access: staff whom the operator names may look in for an hour, seen and ended by the owners. */
import * as z from 'zod'
import { Email, Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { operation } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'

const Reason = z.string().trim().min(3).max(500).describe('The owners read it.')

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

const support = { service: 'auth-service', scope: null } as const
const writes = { readOnly: false, destructive: false, idempotent: false } as const

export const startSupportSession = operation({
  ...support,
  ...writes,
  name: 'support.start',
  summary: 'Let a member of the support staff into an organization for at most an hour, as a viewer.',
  input: z.object({
    org: z.string().min(1).max(80).describe('Id or slug.'),
    staff_email: Email.describe('Of an account whose address is verified.'),
    reason: Reason,
    minutes: z.int().min(1).max(60).default(60),
  }),
  output: SupportSession.extend({ org_id: z.string() }),
  who: 'operator',
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: '/api/v1/admin/support-sessions', success: 201 },
})

export const elevateSupportSession = operation({
  ...support,
  ...writes,
  idempotent: true,
  name: 'support.elevate',
  summary: 'As the visiting member of the staff: raise the visit to admin; owners and admins are told.',
  closedToSupport: false,
  input: z.object({ support_session_id: Id('sup'), reason: Reason }),
  output: SupportSession,
  who: 'viewer',
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'post', path: '/api/v1/support-sessions/{support_session_id}/elevate' },
})

export const listSupportSessions = operation({
  ...support,
  name: 'support.list',
  summary: 'List the visits of support staff to the organization, newest first.',
  input: z.object({ ...pageInput }),
  output: z.object({ support_sessions: z.array(SupportSession), ...pageOutput }),
  who: 'viewer',
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/v1/support-sessions' },
})

export const endSupportSession = operation({
  ...support,
  ...writes,
  destructive: true,
  idempotent: true,
  name: 'support.end',
  summary: 'End a visit: an owner, or the visitor. It acts on the next call.',
  closedToSupport: false,
  input: z.object({ support_session_id: Id('sup') }),
  output: Nothing,
  who: 'viewer',
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'delete', path: '/api/v1/support-sessions/{support_session_id}', success: 204 },
})

export const listMyVisits = operation({
  ...support,
  name: 'support.listMine',
  summary: 'As a member of the support staff: list the organizations that you may visit at this moment.',
  input: z.object({ ...pageInput }),
  output: z.object({
    visits: z.array(
      z.object({
        id: z.string(),
        organization: z.object({ id: z.string(), name: z.string(), slug: z.string() }),
        level: z.enum(['viewer', 'admin']),
        expires_at: Time,
      }),
    ),
    ...pageOutput,
  }),
  who: 'person',
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/v1/support-sessions/mine' },
})
