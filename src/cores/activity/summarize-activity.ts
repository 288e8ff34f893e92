import { asc, sql } from '../../../db/drizzle.ts'
import { activity } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { activityFilter } from './activity-filter.ts'

const DAY_MS = 24 * 60 * 60 * 1000

const DEFAULT_DAYS = 30

export const summarizeActivity =
  (deps: Storage): Handler<'summarizeActivity'> =>
  async (principal, filters) => {
    const today = Math.floor(deps.clock().getTime() / DAY_MS) * DAY_MS
    const from = filters.from ?? new Date(today - (DEFAULT_DAYS - 1) * DAY_MS).toISOString()
    const day = sql<string>`to_char(${activity.at} at time zone 'UTC', 'YYYY-MM-DD')`
    const counted = (outcome: string) =>
      sql<number>`(count(*) filter (where ${activity.outcome} = ${outcome}))::int`
    const days = await deps.db
      .select({
        day,
        answered: counted('answered'),
        refused: counted('refused'),
        failed: counted('failed'),
      })
      .from(activity)
      .where(await activityFilter(deps, requireMember(principal), { ...filters, from }))
      .groupBy(sql`1`)
      .orderBy(asc(sql`1`))
      .limit(400)
    return { days }
  }
