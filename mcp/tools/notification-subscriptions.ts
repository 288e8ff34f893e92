/** The tool `notification_subscriptions`: what the user follows, and the outcome of the last delivery for each app. */
import * as z from 'zod'
import { REASONS } from '../../src/contracts/deliveries.ts'
import { listFollows } from '../../src/contracts/subscriptions.ts'
import { fitPage } from '../answer-size.ts'
import { tool } from '../tool.ts'

const LIMIT = 50

export const notificationSubscriptions = tool({
  name: 'notification_subscriptions',
  resource: 'notifications',
  title: 'List followed apps',
  description:
    'List the apps you follow: categories, frequency, last delivery outcome and reason. ' +
    'With all, also those you could follow.',
  operations: [listFollows],
  input: z.strictObject({
    all: z.boolean().default(false),
    cursor: z.string().max(1_000).optional(),
  }),
  // People choose the names of apps.
  isUntrusted: true,
  run({ all, cursor }, { call }) {
    let next_daily_at = ''
    return fitPage(
      LIMIT,
      async (limit) => {
        const page = await call(listFollows, { following: String(!all), limit, cursor })
        next_daily_at = page.next_daily_at
        return { rows: page.follows, next_cursor: page.next_cursor }
      },
      (rows) => ({ follows: rows.map(withReason), next_daily_at }),
    )
  },
})

type Follow = z.output<typeof listFollows.output>['follows'][number]

/** With the reason in words, for the model to pass on. */
const withReason = ({ last, ...follow }: Follow) => ({
  ...follow,
  last: last && { ...last, ...(last.reason && { why: REASONS[last.reason] }) },
})
