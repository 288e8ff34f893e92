import { expect, test } from 'vitest'
import { ERRORS, ServiceError, type ErrorCode } from '../../contracts/errors.ts'
import { mayRetry } from './retry.ts'

const CODES = Object.keys(ERRORS) as ErrorCode[]

test('what a server could not do at the moment may be tried again, and so may what nobody answered', () => {
  const mayPass = CODES.filter((code) => ERRORS[code].status === 503)
  expect(mayPass).toEqual(expect.arrayContaining(['UNAVAILABLE', 'OVERLOADED']))
  for (const code of [...mayPass, 'TIMEOUT', 'UNEXPECTED', 'RATE_LIMITED'] as const)
    expect([code, mayRetry(new ServiceError(code))]).toEqual([code, true])
})

test('what the caller has to change is not tried again', () => {
  // A quota is one too: it lasts until midnight.
  const lasting = CODES.filter((code) => ERRORS[code].status < 500 && code !== 'RATE_LIMITED')
  for (const code of lasting) expect([code, mayRetry(new ServiceError(code))]).toEqual([code, false])
  expect(mayRetry(new Error('ours'))).toBe(false)
})
