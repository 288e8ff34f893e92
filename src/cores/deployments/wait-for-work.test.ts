import { expect, test } from 'vitest'
import { DEPLOYMENT_WAITS_MAX } from '../../contracts/limits.ts'
import { waitForWork } from './wait-for-work.ts'

const nothing = async () => false

test('whoever hangs up does not wait any more, and makes room', async () => {
  const client = new AbortController()
  const wait = { seconds: 15, signal: client.signal }
  const waiting = Array.from({ length: DEPLOYMENT_WAITS_MAX }, () => waitForWork('org_1', wait, nothing))
  await expect(waitForWork('org_1', wait, nothing)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  const startedAt = performance.now()
  client.abort()
  await Promise.all(waiting)
  expect(performance.now() - startedAt).toBeLessThan(900)
  await waitForWork('org_1', wait, nothing)
})
