/** How many questions an organization may ask: counted in one row that all processes share, in one statement. */
import type { Handle } from '../../../db/connect.ts'
import { eq, sql } from '../../../db/drizzle.ts'
import { questionCounts } from '../../../db/schema.ts'
import type { showQuota } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import { asMember } from '../caller.ts'
import { builtOnce } from '../built-once.ts'
import type { Clock } from '../needs.ts'

export type QuestionLimits = { readonly perMinute: number; readonly perDay: number }

export type LimitNeeds = {
  readonly db: Handle
  readonly clock: Clock
  readonly questionLimits: QuestionLimits
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const begin = (now: Date, lengthMs: number): Date => new Date(Math.floor(now.getTime() / lengthMs) * lengthMs)

/** Minutes and days of UTC, as people count them. A process whose clock is behind counts into the window that is open. */
export async function takeQuestion({ db, clock, questionLimits }: LimitNeeds, orgId: string): Promise<void> {
  const now = clock()
  const minute = begin(now, MINUTE_MS)
  const day = begin(now, DAY_MS)
  const [taken] = await countOne(db).execute({
    orgId,
    minute: minute.toISOString(),
    day: day.toISOString(),
    ...questionLimits,
  })
  if (!taken) throw await refusal(db, orgId, now, questionLimits)
}

const row = questionCounts
const instant = (name: string) => sql`${sql.placeholder(name)}::timestamptz`
const inThisMinute = sql`${row.minute} >= ${instant('minute')}`
const onThisDay = sql`${row.day} >= ${instant('day')}`

const countOne = builtOnce((db) =>
  db
    .insert(row)
    .values({
      orgId: sql.placeholder('orgId'),
      minute: instant('minute'),
      inMinute: 1,
      day: instant('day'),
      inDay: 1,
    })
    .onConflictDoUpdate({
      target: row.orgId,
      set: {
        minute: sql`greatest(${row.minute}, excluded.minute)`,
        inMinute: sql`case when ${inThisMinute} then ${row.inMinute} + 1 else 1 end`,
        day: sql`greatest(${row.day}, excluded.day)`,
        inDay: sql`case when ${onThisDay} then ${row.inDay} + 1 else 1 end`,
      },
      // Full: nothing changes, so that hammering does not cost tomorrow's questions.
      setWhere: sql`(not (${inThisMinute}) or ${row.inMinute} < ${sql.placeholder('perMinute')}) and (not (${onThisDay}) or ${row.inDay} < ${sql.placeholder('perDay')})`,
    })
    .returning({ orgId: row.orgId })
    .prepare('count_question'),
)

/** What is left of both; nothing is taken. */
export const readQuota =
  ({ db, clock, questionLimits: { perMinute, perDay } }: LimitNeeds): Handler<typeof showQuota> =>
  async (who) => {
    const now = clock()
    const [counts] = await db
      .select()
      .from(questionCounts)
      .where(eq(questionCounts.orgId, asMember(who).orgId))
    const allowance = (limit: number, lengthMs: number, windowBegan?: Date, used = 0) => {
      const opened = begin(now, lengthMs)
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
  }

async function refusal(
  db: Handle,
  orgId: string,
  now: Date,
  { perMinute, perDay }: QuestionLimits,
): Promise<ServiceError> {
  const [row] = await db.select().from(questionCounts).where(eq(questionCounts.orgId, orgId))
  const secondsTo = (windowBegan: Date, lengthMs: number) =>
    Math.max(1, Math.ceil((windowBegan.getTime() + lengthMs - now.getTime()) / 1000))
  if (row && row.day >= begin(now, DAY_MS) && row.inDay >= perDay) {
    return new ServiceError('QUOTA_EXCEEDED', `The organization’s ${perDay} questions of today are used up`, {
      retryAfterSeconds: secondsTo(row.day, DAY_MS),
    })
  }
  return new ServiceError('RATE_LIMITED', `The organization may ask ${perMinute} questions a minute`, {
    retryAfterSeconds: secondsTo(row?.minute ?? begin(now, MINUTE_MS), MINUTE_MS),
  })
}
