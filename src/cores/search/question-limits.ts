/**
 * How many questions an organization may ask: counted in one row that all processes share, in one statement. What was
 * counted before comes with the source, so that most questions need not wait for it.
 */
import { keptLocally } from '../../../db/commit-locally.ts'
import type { Handle } from '../../../db/connect.ts'
import { eq, sql } from '../../../db/drizzle.ts'
import { questionCounts } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { preparedQuery } from '../prepared-query.ts'
import type { Clock } from '../dependencies.ts'

export type QuestionLimits = { readonly perMinute: number; readonly perDay: number }

export type LimitDeps = {
  readonly db: Handle
  readonly clock: Clock
  readonly questionLimits: QuestionLimits
}

export const MINUTE_MS = 60_000

export const DAY_MS = 24 * 60 * MINUTE_MS

export const windowStart = (now: Date, lengthMs: number): Date =>
  new Date(Math.floor(now.getTime() / lengthMs) * lengthMs)

/** Minutes and days of UTC, as people count them. A process whose clock is behind counts into the window that is open. */
export async function countQuestion({ db, clock, questionLimits }: LimitDeps, orgId: string): Promise<void> {
  const now = clock()
  const minute = windowStart(now, MINUTE_MS)
  const day = windowStart(now, DAY_MS)
  const [taken] = await countOne(db).execute({
    orgId,
    minute: minute.toISOString(),
    day: day.toISOString(),
    ...questionLimits,
  })
  if (!taken) throw await limitError(db, orgId, now, questionLimits)
}

export type QuestionCounts = typeof questionCounts.$inferSelect

/**
 * Far from the limits the work goes on meanwhile, since the count will hardly refuse it. Where it does after all, the
 * question is refused as if it had been counted first.
 */
export async function whileCounting<T>(
  deps: LimitDeps,
  orgId: string,
  before: QuestionCounts | null,
  work: () => Promise<T>,
): Promise<T> {
  const counting = countQuestion(deps, orgId)
  if (!isFarFromLimits(before, deps.clock(), deps.questionLimits)) {
    await counting
    return work()
  }
  const [counted, worked] = await Promise.allSettled([counting, work()])
  if (counted.status === 'rejected') throw counted.reason
  if (worked.status === 'rejected') throw worked.reason
  return worked.value
}

/** At most half of either is used: as many as are asked at the same moment still fit. */
function isFarFromLimits(
  counts: QuestionCounts | null,
  now: Date,
  { perMinute, perDay }: QuestionLimits,
): boolean {
  if (!counts) return perMinute > 1 && perDay > 1
  const inMinute = counts.minute >= windowStart(now, MINUTE_MS) ? counts.inMinute : 0
  const inDay = counts.day >= windowStart(now, DAY_MS) ? counts.inDay : 0
  return inMinute < perMinute / 2 && inDay < perDay / 2
}

const row = questionCounts

const instant = (name: string) => sql`${sql.placeholder(name)}::timestamptz`

const inThisMinute = sql`${row.minute} >= ${instant('minute')}`

const onThisDay = sql`${row.day} >= ${instant('day')}`

const countOne = preparedQuery((db) =>
  db
    .insert(row)
    .values({
      orgId: sql.placeholder('orgId'),
      minute: keptLocally(instant('minute')),
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

async function limitError(
  db: Handle,
  orgId: string,
  now: Date,
  { perMinute, perDay }: QuestionLimits,
): Promise<ServiceError> {
  const [row] = await db.select().from(questionCounts).where(eq(questionCounts.orgId, orgId))
  const secondsTo = (windowBegan: Date, lengthMs: number) =>
    Math.max(1, Math.ceil((windowBegan.getTime() + lengthMs - now.getTime()) / 1000))
  if (row && row.day >= windowStart(now, DAY_MS) && row.inDay >= perDay) {
    return new ServiceError('QUOTA_EXCEEDED', `The organization’s ${perDay} questions of today are used up`, {
      retryAfterSeconds: secondsTo(row.day, DAY_MS),
    })
  }
  return new ServiceError('RATE_LIMITED', `The organization may ask ${perMinute} questions a minute`, {
    retryAfterSeconds: secondsTo(row?.minute ?? windowStart(now, MINUTE_MS), MINUTE_MS),
  })
}
