import { expect, test } from 'vitest'
import { limitOpenDatabases, type Holder } from './open-database-limit.ts'

/** How many milliseconds somebody waits who is expected to get a place. */
const LONG = 60_000

test('the one that was idle the longest makes room, and none that is in use', async () => {
  const limit = limitOpenDatabases(3)
  const closed: string[] = []
  const holder = (name: string, idle: boolean, usedAt: number): Holder => ({
    open: true,
    idle,
    usedAt,
    async closeIdle() {
      closed.push(name)
      limit.release(this)
    },
  })
  const busy = holder('busy', false, 1)
  for (const one of [busy, holder('newer', true, 3), holder('older', true, 2)]) await limit.acquire(one, LONG)
  await limit.acquire(holder('next', false, 4), LONG)
  expect(closed).toEqual(['older'])
  await limit.acquire(holder('another', false, 5), LONG)
  expect(closed).toEqual(['older', 'newer'])
  await expect(limit.acquire(holder('late', false, 6), 1)).rejects.toMatchObject({ code: '57P03' })
  expect(closed).toHaveLength(2)
  // Whoever leaves makes room, also for nobody: the one that gave up is not let in.
  const waiting = limit.acquire(holder('waiting', false, 7), LONG)
  limit.release(busy)
  await waiting
  const refused = limit.acquire(holder('refused', false, 8), LONG)
  limit.end()
  await expect(refused).rejects.toMatchObject({ code: '57P01' })
})
