/** The tool `notification_follow`: replaces what the caller follows of one app. */
import * as z from 'zod'
import { notFound } from '../../src/contracts/errors.ts'
import { CategoryName } from '../../src/contracts/events.ts'
import { setFollow } from '../../src/contracts/subscriptions.ts'
import { tool } from '../tool.ts'

const { alias, frequency } = setFollow.input.shape

export const notificationFollow = tool({
  name: 'notification_follow',
  resource: 'notifications',
  title: 'Follow an app',
  description: 'Replace what you follow of one app; an empty list stops following.',
  operations: [setFollow],
  input: z.strictObject({
    app: z.string().max(60).describe('Its alias.'),
    categories: z.array(CategoryName).max(4),
    frequency,
  }),
  isUntrusted: true,
  unknown: 'No such app. Call notification_subscriptions with all.',
  async run({ app, ...choice }, { call }) {
    // What cannot be an alias names nothing.
    if (!alias.safeParse(app).success) throw notFound()
    return call(setFollow, { alias: app, ...choice })
  },
})
