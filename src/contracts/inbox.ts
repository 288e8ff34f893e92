/** A person's own notifications: what happened, where to look, read or unread. */
import * as z from 'zod'
import { EventPattern } from './events.ts'
import { Time } from './fields.ts'
import { Id } from './ids.ts'
import { INBOX_STATES } from './list-filters.ts'
import { reading, updating } from './operation.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'

const Notification = z.object({
  id: z.string(),
  type: z.string().describe('The event, such as `deploy.failed`.'),
  subject: z.string().describe('What it is about, by identifier.'),
  summary: z.string().describe('One line.'),
  url: z.string().nullable().describe('Where to look; opening it needs sign-in.'),
  timestamp: Time,
  read: z.boolean(),
  read_at: Time.nullable(),
})

export const listNotifications = reading({
  name: 'listNotifications',
  summary: 'List your own notifications, newest first.',
  service: 'api-gateway',
  input: z.object({
    state: z.enum(INBOX_STATES).default('unread'),
    type: EventPattern.optional(),
    since: z.iso.datetime().optional(),
    ...countedPageInput,
  }),
  output: z.object({ notifications: z.array(Notification), unread_count: z.int(), ...countedPageOutput }),
  access: 'viewer',
  scope: 'notifications:read',
  http: { method: 'get', path: '/api/notifications/inbox' },
})

export const acknowledgeNotification = updating({
  name: 'acknowledgeNotification',
  summary: 'Mark one of your notifications as read; safe to repeat.',
  service: 'api-gateway',
  input: z.object({ notification_id: Id('ntf') }),
  output: z.object({ id: z.string(), read: z.literal(true), read_at: Time }),
  access: 'viewer',
  scope: 'notifications:write',
  errors: ['NOT_FOUND'],
  http: { method: 'post', path: '/api/notifications/inbox/{notification_id}/ack' },
})
