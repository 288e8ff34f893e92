import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Metrics, ObservedRequest } from '../observe/metrics.ts'
import { noTracing } from '../observe/tracing-port.ts'
import type { Deadline } from './context.ts'
import { observe, withDeadline, type Observation } from './observe-request.ts'

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

/** Neither what operators read nor what they draw is about how long somebody chose to wait. */
test.each([
  { what: 'a request', isWaiting: false, status: 200, level: 'info', counted: 1 },
  { what: 'a long poll', isWaiting: true, status: 200, level: 'debug', counted: 0 },
  { what: 'a long poll that failed', isWaiting: true, status: 500, level: 'error', counted: 1 },
])('$what is logged at $level, and counted $counted times', async ({ isWaiting, status, level, counted }) => {
  const levels: string[] = []
  const requests: ObservedRequest[] = []
  const at = (one: string) => () => void levels.push(one)
  await observe(
    'deploy-api',
    {
      log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
      metrics: { observeRequest: (request) => void requests.push(request) } as Metrics,
      tracing: noTracing,
      clock: () => new Date(0),
    },
    { method: 'POST', headers: [] },
    () => ({ requestId: 'req_1', route: 'claimDeployment', isWaiting }) as never,
    () => Promise.resolve(status),
  )
  expect([levels, requests.length]).toEqual([[level], counted])
})
