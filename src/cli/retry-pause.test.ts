import { expect, test } from 'vitest'
import { ServiceError, type ErrorCode } from '../contracts/errors.ts'
import { retryPause } from './retry-pause.ts'

async function msAfter(code: ErrorCode): Promise<number> {
  const startedAt = performance.now()
  await retryPause({ info: () => {} }).afterFailure(
    new ServiceError(code, undefined, { retryAfterSeconds: 0.01 }),
  )
  return performance.now() - startedAt
}

test('a server that is busy says when; one without its database is waited for like one that is gone', async () => {
  expect(await msAfter('OVERLOADED')).toBeLessThan(900)
  expect(await msAfter('UNAVAILABLE')).toBeGreaterThan(900)
})
