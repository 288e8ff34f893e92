import { expect, test } from 'vitest'
import { ServiceError, type ErrorCode } from '../contracts/errors.ts'
import { retryPause } from './retry-pause.ts'

async function pausesAfter(code: ErrorCode): Promise<number[]> {
  const pauses: number[] = []
  const pause = retryPause({ info: () => {} }, {}, async (ms) => pauses.push(ms))
  await pause.afterFailure(new ServiceError(code, undefined, { retryAfterSeconds: 0.01 }))
  return pauses
}

test('a server that is busy says when; one without its database is waited for like one that is gone', async () => {
  expect(await pausesAfter('OVERLOADED')).toEqual([10])
  expect(await pausesAfter('UNAVAILABLE')).toEqual([1_000])
})
