/**
 * A time that lies beyond the next one of the schedule was written by a clock that was ahead. Nothing else would ever find
 * it: until then the pipeline is not due, and so it is not missed either.
 */
import { and, asc, eq, gt, sql } from '../../../db/drizzle.ts'
import { pipelines } from '../../../db/schema.ts'
import type { Log, Storage } from '../dependencies.ts'
import { hasPipelineKey, minutesAfter, type Pipeline, type PipelineKey } from './pipeline-rows.ts'
import { dueAfter } from './schedule-of.ts'

/** A schedule is computed in microseconds, but ten thousand of them are a while. */
const BATCH = 200
/** Clocks of processes differ, and the run before this time may have been made by one that is a little ahead. */
const SKEW_MINUTES = 10

export async function recomputeDueTimes({ db, clock, log }: Storage & Log): Promise<void> {
  const now = clock()
  let last: PipelineKey | undefined
  for (;;) {
    const rows: Pipeline[] = await db
      .select()
      .from(pipelines)
      .where(
        and(
          gt(pipelines.nextDueAt, minutesAfter(now, SKEW_MINUTES)),
          last && sql`(${pipelines.orgId}, ${pipelines.id}) > (${last.orgId}, ${last.id})`,
        ),
      )
      .orderBy(asc(pipelines.orgId), asc(pipelines.id))
      .limit(BATCH)
    for (const pipeline of rows) {
      const nextDueAt = soonerDueAt(pipeline, now)
      if (!nextDueAt) continue
      log.warn('pipelines: a due time lay beyond its schedule', { pipeline: pipeline.id })
      await db
        .update(pipelines)
        .set({ nextDueAt })
        // Whoever has changed it meanwhile has computed it.
        .where(and(hasPipelineKey(pipeline), eq(pipelines.nextDueAt, pipeline.nextDueAt!)))
    }
    if (rows.length < BATCH) return
    last = rows.at(-1)
  }
}

/** Undefined: it is as the schedule says. */
export function soonerDueAt(
  pipeline: Pick<Pipeline, 'cron' | 'timezone' | 'enabled' | 'nextDueAt'>,
  now: Date,
): Date | undefined {
  try {
    const latest = dueAfter(pipeline, minutesAfter(now, SKEW_MINUTES))
    if (!latest || !pipeline.nextDueAt || pipeline.nextDueAt <= latest) return undefined
    return dueAfter(pipeline, now) ?? undefined
  } catch {
    // A schedule that cannot be read any more: whoever makes its runs says so.
    return undefined
  }
}
