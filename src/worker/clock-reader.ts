/** The clock that work goes by which ends or deletes something by the time: whoever's is wrong must not do that early. */
import { sql } from '../../db/drizzle.ts'
import type { Clock, Log, Storage } from '../cores/dependencies.ts'

/** Further from the database's, a clock is wrong: that of a machine which has just started, for example. */
const SKEW_MAX_MS = 10 * 60_000

/** What this process writes elsewhere, such as who was there, it compares by its own clock, unless that is plainly wrong. */
export function clockReader({ db, clock, log }: Storage & Log): () => Promise<Clock> {
  let isWrong = false
  return async () => {
    const [read] = await db.execute<{ ms: number }>(
      sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
    )
    const readAt = performance.now()
    const aheadMs = clock().getTime() - read!.ms
    const wasWrong = isWrong
    isWrong = Math.abs(aheadMs) > SKEW_MAX_MS
    if (!isWrong) return clock
    if (!wasWrong)
      log.warn('the clock of this process is wrong', { seconds_ahead: Math.round(aheadMs / 1000) })
    return () => new Date(read!.ms + performance.now() - readAt)
  }
}
