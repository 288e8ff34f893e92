/** A person's own notifications: what happened, where to look, read or unread. */
import * as z from 'zod'
import { byEvent } from './events.ts'
import { field } from './field.ts'
import { START_TIME, Time } from './fields.ts'
import { Id } from './ids.ts'
import { INBOX_STATES } from './list-filters.ts'
import { reading, updating } from './operation.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'

const Notification = z.object({
  id: z.string(),
  type: z.string().describe('The event, such as `deploy.failed`.'),
  subject: z.string().describe('What it is about, by identifier.'),
  summary: z.string().describe('One line.'),
  name: z
    .string()
    .nullable()
    .optional()
    .describe('What people call the thing it is about, if names were asked for. Somebody wrote it.'),
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
    type: byEvent,
    since: field(z.iso.datetime().optional(), { client: START_TIME }),
    names: z
      .stringbool()
      .default(false)
      .describe('Whether to read the names of what they are about as well.'),
    ...countedPageInput,
  }),
  output: z.object({ notifications: z.array(Notification), unread_count: z.int(), ...countedPageOutput }),
  access: 'viewer',
  scope: 'notifications:read',
  command: {
    path: 'notifications list',
    summary: 'List your notifications, newest first',
    table: 'id, TIME=timestamp, type, summary, read, url',
    examples: ['svc notifications list', 'svc notifications list --state all --type deploy.* --json'],
  },
  http: { method: 'get', path: '/api/notifications/inbox' },
})

export const acknowledgeNotification = updating({
  name: 'acknowledgeNotification',
  summary: 'Mark one of your notifications as read; safe to repeat.',
  service: 'api-gateway',
  input: z.object({ notification_id: field(Id('ntf'), { client: { flag: 'id' } }) }),
  output: z.object({ id: z.string(), read: z.literal(true), read_at: Time }),
  access: 'viewer',
  scope: 'notifications:write',
  errors: ['NOT_FOUND'],
  command: {
    path: 'notifications ack',
    summary: 'Mark a notification as read',
    fields: 'id, read_at',
    examples: ['svc notifications ack ntf_0mwhkcyh5nlh1pqqssy5gj19q'],
  },
  http: { method: 'post', path: '/api/notifications/inbox/{notification_id}/ack' },
})
