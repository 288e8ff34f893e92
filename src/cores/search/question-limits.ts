/** How many questions an organization may ask: counted in one row that all processes share, in one statement. */
import type { Handle } from '../../../db/connect.ts'
import { eq, sql } from '../../../db/drizzle.ts'
import { questionCounts } from '../../../db/schema.ts'
import type { showQuota } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import { asMember } from '../caller.ts'
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
  const { perMinute, perDay } = questionLimits
  const row = questionCounts
  const inThisMinute = sql`${row.minute} >= ${minute.toISOString()}::timestamptz`
  const onThisDay = sql`${row.day} >= ${day.toISOString()}::timestamptz`
  const [taken] = await db
    .insert(row)
    .values({ orgId, minute, inMinute: 1, day, inDay: 1 })
    .onConflictDoUpdate({
      target: row.orgId,
      set: {
        minute: sql`greatest(${row.minute}, excluded.minute)`,
        inMinute: sql`case when ${inThisMinute} then ${row.inMinute} + 1 else 1 end`,
        day: sql`greatest(${row.day}, excluded.day)`,
        inDay: sql`case when ${onThisDay} then ${row.inDay} + 1 else 1 end`,
      },
      // Full: nothing changes, so that hammering does not cost tomorrow's questions.
      setWhere: sql`(not (${inThisMinute}) or ${row.inMinute} < ${perMinute}) and (not (${onThisDay}) or ${row.inDay} < ${perDay})`,
    })
    .returning({ orgId: row.orgId })
  if (!taken) throw await refusal(db, orgId, now, questionLimits)
}

/** What is left of both; nothing is taken. */
export const readQuota =
  ({ db, clock, questionLimits: { perMinute, perDay } }: LimitNeeds): Handler<typeof showQuota> =>
  async (who) => {
    const now = clock()
    const [row] = await db
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
      minute: allowance(perMinute, MINUTE_MS, row?.minute, row?.inMinute),
      day: allowance(perDay, DAY_MS, row?.day, row?.inDay),
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
