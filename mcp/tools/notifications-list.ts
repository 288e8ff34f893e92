/** The tool `notifications_list`: the user's own inbox. */
import * as z from 'zod'
import { listNotifications } from '../../src/contracts/inbox.ts'
import { fitPage } from '../answer-size.ts'
import { tool, hidePattern } from '../tool.ts'

const LIMIT = { default: 20, max: 50 }

const { state, type, since } = listNotifications.input.shape

export const notificationsList = tool({
  name: 'notifications_list',
  resource: 'notifications',
  title: 'List my notifications',
  description: 'Your notifications: what happened, what needs attention. Newest first, unread by default.',
  operations: [listNotifications],
  input: z.strictObject({
    state,
    type: hidePattern(type.unwrap()).optional().describe('Event type, or a prefix such as deploy.*'),
    since: hidePattern(since.unwrap()).optional().describe('ISO 8601, UTC.'),
    limit: z.int().min(1).max(LIMIT.max).default(LIMIT.default),
    cursor: z.string().max(1_000).optional(),
  }),
  isUntrusted: true,
  card: 'inbox',
  run({ limit: requested, ...filters }, { call }) {
    let unread_count = 0
    return fitPage(
      requested,
      async (limit) => {
        const page = await call(listNotifications, { ...filters, limit })
        unread_count = page.unread_count
        return { rows: page.notifications, next_cursor: page.next_cursor }
      },
      (rows) => ({
        notifications: rows.map(({ read: _redundant_with_read_at, ...row }) => row),
        unread_count,
      }),
    )
  },
})
