/** A database that has gone back, for one test of those that share it. */
import { onTestFinished } from 'vitest'
import { newTimeline, updateTimeline, wentBack } from '../../src/cores/endings/timeline.ts'
import { readTimeline } from '../../src/cores/timeline.ts'
import type { TestSystem } from './system.ts'

/** As after a failover: what was written since `aliveAt` may be lost. Rows that are, the test takes away by itself. */
export async function goBack(
  { db, clock }: Pick<TestSystem, 'db' | 'clock'>,
  aliveAt: number,
): Promise<void> {
  const now = clock.now()
  const { changes, lost, timeline } = (await readTimeline(db)) ?? newTimeline(now)
  await updateTimeline(
    db,
    (before) => wentBack({ ...before, aliveAt }, { timeline: null, changes: 0, now }),
    newTimeline(now),
  )
  // Otherwise the fences of every later test begin at a million.
  onTestFinished(async () => {
    await updateTimeline(db, (known) => ({ ...known, changes, lost, timeline }), newTimeline(now))
  })
}
