import { expect, test } from 'vitest'
import { createArrivals } from './log-reads.ts'

const [app, other] = [
  { orgId: 'org_1', id: 'app_1' },
  { orgId: 'org_1', id: 'app_2' },
]

test('whoever waits is woken, but does not look as often as lines arrive', async () => {
  const arrivals = createArrivals({ least: 20, most: 10_000 })
  const arriving = setInterval(() => arrivals.notify(app), 1)
  const started = performance.now()
  for (let looks = 0; looks < 3; looks++) await arrivals.wait(app)
  clearInterval(arriving)
  const tookMs = performance.now() - started
  expect(tookMs).toBeGreaterThan(55)
  expect(tookMs).toBeLessThan(5_000)
})

test('lines of another app wake nobody, and after a while everybody looks', async () => {
  const arrivals = createArrivals({ least: 0, most: 50 })
  const arriving = setInterval(() => arrivals.notify(other), 1)
  const started = performance.now()
  await arrivals.wait(app)
  clearInterval(arriving)
  expect(performance.now() - started).toBeGreaterThan(45)
})
