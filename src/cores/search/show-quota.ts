import { eq, sql } from '../../../db/drizzle.ts'
import { questionCounts } from '../../../db/schema.ts'
import { preparedQuery } from '../prepared-query.ts'
import { read, type Verb } from '../verb.ts'
import { type LimitDeps, MINUTE_MS, DAY_MS, windowStart } from './question-limits.ts'

/** What is left of both; nothing is taken. */
export const showQuota: Verb<'showQuota', LimitDeps> = read(
  async ({ db, clock, orgId, questionLimits: { perMinute, perDay } }) => {
    const now = clock()
    const [counts] = await countsOf(db).execute({ orgId })
    const allowance = (limit: number, lengthMs: number, windowBegan?: Date, used = 0) => {
      const opened = windowStart(now, lengthMs)
      const isOpen = windowBegan !== undefined && windowBegan >= opened
      return {
        limit,
        left: Math.max(0, limit - (isOpen ? used : 0)),
        resets_at: new Date((isOpen ? windowBegan : opened).getTime() + lengthMs).toISOString(),
      }
    }
    return {
      minute: allowance(perMinute, MINUTE_MS, counts?.minute, counts?.inMinute),
      day: allowance(perDay, DAY_MS, counts?.day, counts?.inDay),
    }
  },
)

const countsOf = preparedQuery((db) =>
  db
    .select()
    .from(questionCounts)
    .where(eq(questionCounts.orgId, sql.placeholder('orgId')))
    .prepare('show_quota'),
)
