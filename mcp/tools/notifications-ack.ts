/** The tool `notifications_ack`: marks one notification read. */
import * as z from 'zod'
import { notFound } from '../../src/contracts/errors.ts'
import { idPattern } from '../../src/contracts/ids.ts'
import { acknowledgeNotification } from '../../src/contracts/inbox.ts'
import { tool } from '../tool.ts'

export const notificationsAck = tool({
  name: 'notifications_ack',
  resource: 'notifications',
  title: 'Mark a notification read',
  description: 'Mark one notification read for you.',
  operations: [acknowledgeNotification],
  input: z.strictObject({ id: z.string().max(60).describe('An id from notifications_list.') }),
  notFoundText: 'No such notification. Call notifications_list.',
  async run({ id }, { call }) {
    // An invalid id is answered like an unknown one, or one of another user.
    if (!idPattern('ntf').test(id)) throw notFound()
    return call(acknowledgeNotification, { notification_id: id })
  },
})
