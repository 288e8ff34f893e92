/** The rows of activity, newest first: one's own, or as owner or admin everybody's. */
import { and, eq } from '../../../db/drizzle.ts'
import { activity } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'
import { activityFilter } from './activity-filter.ts'

export const listActivity: Verb<'listActivity'> = list(
  { rows: 'activity', desc: [activity.id] },
  async (context, { outcome, ...filters }) => {
    const { db, old = db, member, page } = context
    return page({
      from: () => old.select().from(activity),
      where: and(await activityFilter(context, member, filters), outcome && eq(activity.outcome, outcome)),
      key: (row) => [row.id],
      present: (rows) => rows.map(present),
    })
  },
)

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
