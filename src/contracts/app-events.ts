/** Events that an app sends itself: `app.<alias>.<name>`. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { field } from './field.ts'
import { INVISIBLE } from './invisible-characters.ts'
import { creating } from './operation.ts'

/** Together below 4 KiB, whatever characters they are written with. */
const TYPE_MAX = 100
const SUBJECT_MAX = 80
const TEXT_MAX = 500
const LINK_MAX = 1_000

const isOneLine = (text: string): boolean => text.search(INVISIBLE) === -1 && !text.includes('\t')

export const sendAppEvent = creating({
  service: 'deploy-api',
  access: 'viewer',
  scope: 'apps:report',
  name: 'sendAppEvent',
  summary: 'Send an event of an app to subscriptions, and to the inbox of the people of the app.',
  input: z.object({
    ...appAlias,
    type: field(
      z
        .string()
        .max(TYPE_MAX)
        .regex(
          /^app\.[a-z0-9-]+(?:\.[a-z0-9_-]+)+$/,
          'must be app., the alias of the app, and a name such as app.shop.order_failed',
        ),
      { label: 'Event type', client: 'app.<alias>.<name>, such as app.shop.order_failed' },
    ),
    subject: field(
      z
        .string()
        .regex(/^[A-Za-z0-9_-]{1,80}$/, 'must be 1 to 80 of letters, digits, - and _')
        .describe('What it is about. Events of one subject arrive in the order they were sent.'),
      { label: 'Subject', maxLength: SUBJECT_MAX, client: 'What it is about, such as order-1234' },
    ),
    text: field(
      z
        .string()
        .trim()
        .min(1)
        .max(TEXT_MAX)
        .refine(isOneLine, 'must be one line, without control or invisible characters')
        .optional()
        .describe('One line for the inbox of the people of the app. It is sent nowhere else.'),
      { label: 'Text', client: 'One line for the inbox of the people of the app' },
    ),
    link: field(
      z
        .string()
        .min(1)
        .max(LINK_MAX)
        .optional()
        .describe('A page of the console, as a path or a whole address. Left out: the page of the app.'),
      { label: 'Link', client: 'A page of the console (default: that of the app)' },
    ),
    idempotency_key: field(
      z
        .string()
        .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 visible ASCII characters')
        .optional()
        .describe('Also as the header `Idempotency-Key`. Of one app, the same key is the same event.'),
      { label: 'Idempotency key', client: 'The same key is the same event' },
    ),
  }),
  output: z.object({
    id: z.string().describe('Of the event (evt_…).'),
    type: z.string(),
    subject: z.string().describe('As receivers see it: `apps/<alias>/<subject>`.'),
    text: z.string().nullable().describe('As it is kept: what looks like a secret is replaced.'),
    link: z.string(),
    replayed: z.boolean().describe('An earlier request had this key.'),
  }),
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  closedToSupport: true,
  command: {
    path: 'apps events send',
    summary: 'Send an event of an app to subscriptions and to the inbox of its people',
    arguments: ['alias', 'type'],
    fields: 'id, type, subject, replayed',
    examples: [
      'svc apps events send shop app.shop.order_failed --subject order-1234 --text "The card was declined"',
    ],
  },
  http: { method: 'post', path: '/api/deploy/apps/{alias}/events', success: 201 },
})
