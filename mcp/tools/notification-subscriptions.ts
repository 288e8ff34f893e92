/** The tool `notification_subscriptions`: what the caller follows, and how the last message about each app fared. */
import * as z from 'zod'
import { REASONS } from '../../src/contracts/deliveries.ts'
import { listFollows } from '../../src/contracts/subscriptions.ts'
import { fitPage } from '../fit.ts'
import { tool } from '../tool.ts'

const LIMIT = 50

export const notificationSubscriptions = tool({
  name: 'notification_subscriptions',
  resource: 'notifications',
  title: 'My follows',
  description:
    'Apps you follow: categories, frequency and the last delivery outcome with its reason. ' +
    'With all, also those you may follow but do not.',
  operations: [listFollows],
  input: z.strictObject({
    all: z.boolean().default(false),
    cursor: z.string().max(1_000).optional(),
  }),
  // Names of apps are people's own.
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
      (rows) => ({ follows: rows.map(explained), next_daily_at }),
    )
  },
})

type Follow = z.output<typeof listFollows.output>['follows'][number]

/** The reason in words: a model passes them on. */
const explained = ({ last, ...follow }: Follow) => ({
  ...follow,
  last: last && { ...last, ...(last.reason && { why: REASONS[last.reason] }) },
})
