/** The tool `notification_follow`: replaces what the user follows of one app. */
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
  description: 'Set what you follow for one app. An empty list unfollows it.',
  operations: [setFollow],
  input: z.strictObject({
    app: z.string().max(60).describe('Its alias.'),
    categories: z.array(CategoryName).max(4),
    frequency,
  }),
  isUntrusted: true,
  notFoundText: 'No such app. Call notification_subscriptions with all.',
  async run({ app, ...choice }, { call }) {
    // An invalid alias is answered like an unknown one.
    if (!alias.safeParse(app).success) throw notFound()
    return call(setFollow, { alias: app, ...choice })
  },
})
