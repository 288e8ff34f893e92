import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Deadline } from './context.ts'
import { withDeadline, type Observation } from './observe-request.ts'

const observation = { deadlineMs: 20 } as Observation

test.each<[string, () => Promise<string>, string]>([
  ['is done', () => Promise.resolve('done'), 'done'],
  ['fails', () => Promise.reject(new Error('failed')), 'failed'],
  [
    'fails before it has begun to wait',
    () => {
      throw new Error('failed at once')
    },
    'failed at once',
  ],
])('work that %s has no deadline any more', async (_, work, words) => {
  let given: Deadline | undefined
  const outcome = await withDeadline(observation, (deadline) => {
    given = deadline
    return work()
  }).catch((error: Error) => error.message)
  expect(outcome).toBe(words)
  await sleep(60)
  expect(given!().aborted).toBe(false)
})

test('work that takes too long is answered with TIMEOUT, and told so', async () => {
  let given: Deadline | undefined
  const late = withDeadline(observation, (deadline) => {
    given = deadline
    return new Promise(() => {})
  })
  await expect(late).rejects.toMatchObject({ code: 'TIMEOUT' })
  expect(given!().aborted).toBe(true)
})
