/** What to do when somebody else was in: end everything that was made since then. */
import * as z from 'zod'
import { Id } from './ids.ts'
import { removing } from './operation.ts'

export const endAccessSince = removing({
  name: 'endAccessSince',
  summary:
    'End the sessions, logins of the client, API tokens, grants, credentials of machine agents and invitations that were made since a time.',
  service: 'auth-service',
  input: z.object({
    since: z.iso.datetime({ offset: true }).describe('Everything made at or after this time ends.'),
    all: z
      .boolean()
      .default(false)
      .describe('Those of the whole organization, as far as roles are not above yours; owner or admin.'),
    user_id: Id('usr')
      .optional()
      .describe(
        'Those of one member of the organization; owner or admin. Left out: your own, in all organizations.',
      ),
  }),
  output: z.object({
    sessions: z.int().describe('With logins of the client, and without the one you use.'),
    tokens: z.int(),
    grants: z.int(),
    credentials: z.int().describe('Of machine agents.'),
    invitations: z.int(),
  }),
  access: 'session',
  errors: ['NOT_FOUND'],
  closedToSupport: true,
  http: { method: 'post', path: '/api/v1/access/end' },
})
