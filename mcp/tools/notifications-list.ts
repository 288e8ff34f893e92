/** The tool `notifications_list`: the caller's own inbox. */
import * as z from 'zod'
import { listInbox } from '../../src/contracts/inbox.ts'
import { fitPage } from '../fit.ts'
import { tool, unpublished } from '../tool.ts'

/** A model reads every one of them; the next page is one call away. */
const LIMIT = { default: 20, max: 50 }

const { state, type, since } = listInbox.input.shape

export const notificationsList = tool({
  name: 'notifications_list',
  resource: 'notifications',
  title: 'List my notifications',
  description:
    'Your own notifications, newest first, unread by default. ' +
    'Use when the user asks what happened, what needs attention or what to do next.',
  operations: [listInbox],
  input: z.strictObject({
    state,
    type: unpublished(type.unwrap()).optional().describe('Event type, or a prefix such as deploy.*'),
    since: unpublished(since.unwrap()).optional().describe('ISO 8601, UTC.'),
    limit: z.int().min(1).max(LIMIT.max).default(LIMIT.default),
    cursor: z.string().max(1_000).optional().describe('next_cursor of the page before.'),
  }),
  isUntrusted: true,
  run({ limit: asked, ...filters }, { call }) {
    let unread_count = 0
    return fitPage(
      asked,
      async (limit) => {
        const page = await call(listInbox, { ...filters, limit })
        unread_count = page.unread_count
        return { rows: page.notifications, next_cursor: page.next_cursor }
      },
      (rows) => ({
        // `read_at` says both.
        notifications: rows.map(({ read: _said_by_read_at, ...row }) => row),
        unread_count,
      }),
    )
  },
})
