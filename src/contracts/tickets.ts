/** Tickets on apps: filed by members, answered in public or noted internally, moved between three states. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { Time } from './fields.ts'
import { Id } from './ids.ts'
import { operation } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'

export const TICKET_STATUSES = ['open', 'in_progress', 'done'] as const
export type TicketStatus = (typeof TICKET_STATUSES)[number]

const Text = z
  .string()
  .trim()
  .min(1)
  .max(20_000)
  .refine((text) => !text.includes('\0'), 'must not contain NUL')

const person = z.object({ id: z.string(), name: z.string() })

const Ticket = z.object({
  id: z.string(),
  app: z.string().describe('The alias.'),
  title: z.string(),
  status: z.enum(TICKET_STATUSES),
  reporter: person,
  created_at: Time,
  changed_at: Time,
})

const Reply = z.object({
  id: z.string(),
  internal: z.boolean().describe('A note that only those who work on the app see, and that tells nobody.'),
  body: z.string(),
  author: person,
  at: Time,
})

const tickets = {
  service: 'deploy-api',
  scope: null,
  who: 'viewer',
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
} as const
const reads = { readOnly: true, destructive: false, idempotent: true } as const
const writes = { readOnly: false, destructive: false, idempotent: false } as const
const ticketId = { ...appAlias, ticket_id: Id('tkt') }

export const fileTicket = operation({
  ...tickets,
  ...writes,
  takesIdempotencyKey: true,
  name: 'tickets.file',
  summary: 'File a ticket on an app.',
  input: z.object({ ...appAlias, title: z.string().trim().min(1).max(200), body: Text }),
  output: Ticket,
  http: { method: 'post', path: '/api/deploy/apps/{alias}/tickets', success: 201 },
})

export const listTickets = operation({
  ...tickets,
  ...reads,
  name: 'tickets.list',
  summary: 'List tickets of an app, newest first: all of them for those who work on it, otherwise your own.',
  input: z.object({ ...appAlias, status: z.enum(TICKET_STATUSES).optional(), ...pageInput }),
  output: z.object({ tickets: z.array(Ticket), ...pageOutput }),
  http: { method: 'get', path: '/api/deploy/apps/{alias}/tickets' },
})

export const showTicket = operation({
  ...tickets,
  ...reads,
  name: 'tickets.show',
  summary: 'Show a ticket with its replies, and the internal notes to those who work on the app.',
  input: z.object(ticketId),
  output: Ticket.extend({ body: z.string(), replies: z.array(Reply) }),
  http: { method: 'get', path: '/api/deploy/apps/{alias}/tickets/{ticket_id}' },
})

export const replyToTicket = operation({
  ...tickets,
  ...writes,
  takesIdempotencyKey: true,
  name: 'tickets.reply',
  summary: 'Answer a ticket, or leave an internal note on it.',
  input: z.object({ ...ticketId, body: Text, internal: z.boolean().default(false) }),
  output: Reply,
  http: { method: 'post', path: '/api/deploy/apps/{alias}/tickets/{ticket_id}/replies', success: 201 },
})

export const moveTicket = operation({
  ...tickets,
  ...writes,
  idempotent: true,
  name: 'tickets.move',
  summary:
    'Move a ticket to open, in progress or done; those who work on the app, and its reporter to open or done.',
  input: z.object({ ...ticketId, status: z.enum(TICKET_STATUSES) }),
  output: Ticket,
  http: { method: 'put', path: '/api/deploy/apps/{alias}/tickets/{ticket_id}/status' },
})
