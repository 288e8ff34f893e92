/** Tickets on apps: replies, internal notes and a status. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { field } from './field.ts'
import { Time } from './fields.ts'
import { Id } from './ids.ts'
import { creating, reading, updating } from './operation.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'

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
  app: z.string().describe('Alias of the app.'),
  title: z.string(),
  status: z.enum(TICKET_STATUSES),
  reporter: person,
  created_at: Time,
  changed_at: Time,
})

const Reply = z.object({
  id: z.string(),
  internal: z.boolean().describe('A note that only people with a role on the app see.'),
  body: z.string(),
  author: person,
  at: Time,
})

const tickets = {
  service: 'deploy-api',
  access: 'viewer',
} as const
const ticketId = { ...appAlias, ticket_id: Id('tkt') }

export const createTicket = creating({
  ...tickets,
  takesIdempotencyKey: true,
  name: 'createTicket',
  summary: 'Create a ticket.',
  input: z.object({
    ...appAlias,
    title: z.string().trim().min(1).max(200),
    body: field(Text, {
      label: 'Description',
      rows: 8,
      hint: 'What you did, what you expected, and what happened instead.',
    }),
  }),
  output: Ticket,
  errors: ['NOT_FOUND'],
  http: { method: 'post', path: '/api/deploy/apps/{alias}/tickets', success: 201 },
})

export const listTickets = reading({
  ...tickets,
  name: 'listTickets',
  summary: 'List the tickets of an app, newest first. Without a role on the app, only your own.',
  input: z.object({ ...appAlias, status: z.enum(TICKET_STATUSES).optional(), ...countedPageInput }),
  output: z.object({ tickets: z.array(Ticket), ...countedPageOutput }),
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: '/api/deploy/apps/{alias}/tickets' },
})

export const searchTickets = reading({
  ...tickets,
  name: 'searchTickets',
  summary: 'Find tickets of all apps by title or id, newest first: those of apps you work on, and your own.',
  input: z.object({
    search: z.string().trim().min(1).max(120).describe('Part of the title, or the whole id.'),
    limit: z.coerce.number().int().min(1).max(20).default(5),
  }),
  output: z.object({ tickets: z.array(Ticket) }),
  http: { method: 'get', path: '/api/deploy/tickets' },
})

export const showTicket = reading({
  ...tickets,
  name: 'showTicket',
  summary: 'Retrieve a ticket and its replies.',
  input: z.object(ticketId),
  output: Ticket.extend({ body: z.string(), replies: z.array(Reply) }),
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: '/api/deploy/apps/{alias}/tickets/{ticket_id}' },
})

export const replyToTicket = creating({
  ...tickets,
  takesIdempotencyKey: true,
  name: 'replyToTicket',
  summary: 'Reply to a ticket, or add an internal note.',
  input: z.object({
    ...ticketId,
    body: field(Text, { label: 'Message', rows: 5, hint: 'Markdown: lists, code, emphasis and links.' }),
    internal: z.boolean().default(false),
  }),
  output: Reply,
  errors: ['NOT_FOUND'],
  http: { method: 'post', path: '/api/deploy/apps/{alias}/tickets/{ticket_id}/replies', success: 201 },
})

export const changeTicketStatus = updating({
  ...tickets,
  name: 'changeTicketStatus',
  summary: 'Change the status of a ticket.',
  input: z.object({ ...ticketId, status: z.enum(TICKET_STATUSES) }),
  output: Ticket,
  errors: ['NOT_FOUND'],
  http: { method: 'put', path: '/api/deploy/apps/{alias}/tickets/{ticket_id}/status' },
})
