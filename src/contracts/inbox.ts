/** A person's own notifications, as agents and pages read them: what happened, where to look, read or not. */
import * as z from 'zod'
import { EventPattern } from './events.ts'
import { Time } from './fields.ts'
import { Id } from './ids.ts'
import { operation } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'

const InboxEntry = z.object({
  id: z.string(),
  type: z.string().describe('The event, such as `deploy.failed`.'),
  subject: z.string().describe('What it is about, by identifier.'),
  summary: z.string().describe('One line.'),
  url: z.string().nullable().describe('Where to look; opening it needs sign-in.'),
  timestamp: Time,
  read: z.boolean(),
  read_at: Time.nullable(),
})

export const listInbox = operation({
  name: 'inbox.list',
  summary: 'List your own notifications, newest first.',
  service: 'api-gateway',
  input: z.object({
    state: z.enum(['unread', 'read', 'all']).default('unread'),
    type: EventPattern.optional(),
    since: z.iso.datetime().optional(),
    ...pageInput,
  }),
  output: z.object({ notifications: z.array(InboxEntry), unread_count: z.int(), ...pageOutput }),
  who: 'viewer',
  scope: 'notifications:read',
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/notifications/inbox' },
})

export const acknowledge = operation({
  name: 'inbox.acknowledge',
  summary: 'Mark one of your notifications read; safe to repeat.',
  service: 'api-gateway',
  input: z.object({ notification_id: Id('ntf') }),
  output: z.object({ id: z.string(), read: z.literal(true), read_at: Time }),
  who: 'viewer',
  scope: 'notifications:write',
  readOnly: false,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'post', path: '/api/notifications/inbox/{notification_id}/ack' },
})
