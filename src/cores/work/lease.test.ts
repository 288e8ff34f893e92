import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { whileRenewed } from './lease.ts'

/** Renewed every millisecond. */
const SECONDS = 0.004

/** Work that ends when it is told to. */
function working() {
  const ended = Promise.withResolvers<string>()
  let lost: AbortSignal | undefined
  return {
    end: () => ended.resolve('done'),
    isLost: () => lost?.aborted,
    work: (signal: AbortSignal) => {
      lost = signal
      return ended.promise
    },
  }
}

test('a lease is renewed as long as the work goes on, also after a renewal that failed', async () => {
  const errors: unknown[] = []
  let renewed = 0
  const { work, end, isLost } = working()
  const answer = whileRenewed(
    {
      seconds: SECONDS,
      async renew() {
        if (++renewed === 2) throw new Error('the database is away')
        return true
      },
      onError: (error) => void errors.push(error),
    },
    work,
  )
  await expect.poll(() => renewed).toBeGreaterThan(4)
  end()
  expect([await answer, isLost()]).toEqual(['done', false])
  const before = renewed
  await sleep(20)
  expect([renewed, errors]).toEqual([before, [new Error('the database is away')]])
})

test('work whose lease was lost is told to stop, and what it fails with is told', async () => {
  const answer = whileRenewed(
    { seconds: SECONDS, renew: async () => false, onError: () => {} },
    (lost) => new Promise((_, reject) => lost.addEventListener('abort', () => reject(new Error('stopped')))),
  )
  await expect(answer).rejects.toThrow('stopped')
})
