/** The activity trail: one's own rows, or as owner or admin everybody's. */
import { and, asc, desc, eq, gte, lt, sql } from '../../../db/drizzle.ts'
import { activity, dataSources } from '../../../db/schema.ts'
import type { listActivity, summarizeActivity } from '../../contracts/activity.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { atLeast } from '../../contracts/roles.ts'
import { asMember, type MemberCaller } from '../caller.ts'
import { named } from '../databases/index.ts'
import type { Storage } from '../needs.ts'

type Filters = {
  type: 'function' | 'data_source'
  source?: string | undefined
  user_id?: string | undefined
  from?: string | undefined
  to?: string | undefined
}

function matching({ db }: Storage, caller: MemberCaller, { type, source, user_id, from, to }: Filters) {
  const seesAll = atLeast(caller.role, 'admin')
  if (user_id !== undefined && user_id !== caller.userId && !seesAll) {
    throw new ServiceError('FORBIDDEN', 'Only an owner or admin sees what others asked')
  }
  const who = user_id ?? (seesAll ? undefined : caller.userId)
  return and(
    eq(activity.orgId, caller.orgId),
    eq(activity.type, type),
    who === undefined ? undefined : eq(activity.userId, who),
    source === undefined ? undefined : eq(activity.name, nameOf(db, caller.orgId, source)),
    from === undefined ? undefined : gte(activity.at, new Date(from)),
    to === undefined ? undefined : lt(activity.at, new Date(to)),
  )
}

/** By its name, which the rows keep: what a removed database was asked can still be found. */
const nameOf = (db: Storage['db'], orgId: string, source: string) =>
  source.startsWith('db_')
    ? source
    : sql`(${db
        .select({ name: sql`'db_' || ${dataSources.name}` })
        .from(dataSources)
        .where(named(orgId, source))})`

export const readActivity =
  (needs: Storage): Handler<typeof listActivity> =>
  async (who, { limit, cursor, outcome, ...filters }) => {
    const before = readCursor(cursor, 1)?.[0]
    const rows = await needs.db
      .select()
      .from(activity)
      .where(
        and(
          matching(needs, asMember(who), filters),
          outcome && eq(activity.outcome, outcome),
          before === undefined ? undefined : lt(activity.id, before),
        ),
      )
      .orderBy(desc(activity.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    return { activity: page.rows.map(present), next_cursor: page.next_cursor }
  }

const present = (row: typeof activity.$inferSelect) => ({
  id: row.id,
  at: row.at.toISOString(),
  type: row.type,
  name: row.name,
  user: { id: row.userId, name: row.userName },
  source: row.door,
  client_id: row.clientId,
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

const DAY_MS = 24 * 60 * 60 * 1000
const SHOWN_DAYS = 30

export const countActivity =
  (needs: Storage): Handler<typeof summarizeActivity> =>
  async (who, filters) => {
    const today = Math.floor(needs.clock().getTime() / DAY_MS) * DAY_MS
    const from = filters.from ?? new Date(today - (SHOWN_DAYS - 1) * DAY_MS).toISOString()
    const day = sql<string>`to_char(${activity.at} at time zone 'UTC', 'YYYY-MM-DD')`
    const counted = (outcome: string) =>
      sql<number>`(count(*) filter (where ${activity.outcome} = ${outcome}))::int`
    const days = await needs.db
      .select({
        day,
        answered: counted('answered'),
        refused: counted('refused'),
        failed: counted('failed'),
      })
      .from(activity)
      .where(matching(needs, asMember(who), { ...filters, from }))
      .groupBy(sql`1`)
      .orderBy(asc(sql`1`))
      .limit(400)
    return { days }
  }
