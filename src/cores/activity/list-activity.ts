/** The rows of activity, newest first: one's own, or as owner or admin everybody's. */
import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { activity } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { requireMember } from '../principal.ts'
import { activityFilter } from './activity-filter.ts'
import type { Storage } from '../dependencies.ts'

export const listActivity =
  (deps: Storage): Handler<'listActivity'> =>
  async (principal, { limit, cursor, count, outcome, ...filters }) => {
    const before = readCursor(cursor, 1)?.[0]
    const matching = and(
      await activityFilter(deps, requireMember(principal), filters),
      outcome && eq(activity.outcome, outcome),
    )
    const rows = await deps.db
      .select()
      .from(activity)
      .where(and(matching, before === undefined ? undefined : lt(activity.id, before)))
      .orderBy(desc(activity.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    const counted = await totalOf(deps.db, { count, cursor }, page, () =>
      deps.db.select(ONE_ROW).from(activity).where(matching),
    )
    return { activity: page.rows.map(present), next_cursor: page.next_cursor, ...counted }
  }

const present = (row: typeof activity.$inferSelect) => ({
  id: row.id,
  at: row.at.toISOString(),
  type: row.type,
  name: row.name,
  user: { id: row.userId, name: row.userName },
  source: row.entryPoint,
  client_id: row.clientId,
  client_name: row.clientName,
  grant_id: row.grantId,
  outcome: row.outcome,
  error: row.error,
  duration_ms: row.durationMs,
  question_bytes: row.questionBytes,
  answer_bytes: row.answerBytes,
  hits: row.hits,
  question_digest: row.questionDigest,
  answer_digest: row.answerDigest,
  request_id: row.requestId,
})
