/** The tool `notifications_ack`: one notification is read, for its person only. */
import * as z from 'zod'
import { notFound } from '../../src/contracts/errors.ts'
import { idPattern } from '../../src/contracts/ids.ts'
import { acknowledge } from '../../src/contracts/inbox.ts'
import { tool } from '../tool.ts'

export const notificationsAck = tool({
  name: 'notifications_ack',
  resource: 'notifications',
  title: 'Mark a notification read',
  description: 'Mark one notification read for you only. Safe to repeat.',
  operations: [acknowledge],
  input: z.strictObject({ id: z.string().max(60).describe('An id from notifications_list.') }),
  unknown: 'No such notification. Call notifications_list.',
  async run({ id }, { call }) {
    // What cannot be an id names nothing, as one of somebody else's does.
    if (!idPattern('ntf').test(id)) throw notFound()
    return call(acknowledge, { notification_id: id })
  },
})
