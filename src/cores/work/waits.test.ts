import { expect, test } from 'vitest'
import type { Handle } from '../../../db/connect.ts'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import { createWaits } from './waits.ts'

const nothing = async () => false
/** Nobody asks it anything. */
const db = {} as Handle
const OF = { orgId: 'org_1' }

test('whoever hangs up does not wait any more, and makes room', async () => {
  const waitForWork = createWaits(FAIR_QUEUES.deploymentWaits)
  const client = new AbortController()
  // Longer than a test may take.
  const wait = { seconds: 600, signal: client.signal }
  const waiting = Array.from({ length: FAIR_QUEUES.deploymentWaits.running.organization }, () =>
    waitForWork(db, OF, wait, nothing),
  )
  await expect(waitForWork(db, OF, wait, nothing)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  client.abort()
  await Promise.all(waiting)
  await waitForWork(db, OF, wait, nothing)
})
