import { expect, test } from 'vitest'
import { DatabaseAway } from '../../db/database-away.ts'
import { ERRORS, ServiceError, type ErrorCode } from '../contracts/errors.ts'
import { noTracing } from '../observe/tracing-port.ts'
import { asServiceError } from './answer.ts'
import { createServiceApp } from './service-app.ts'

async function answeredTo(error: Error) {
  const app = createServiceApp('api-gateway', {
    deadlineMs: 30_000,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    metrics: undefined,
    tracing: noTracing,
    clock: () => new Date('2026-11-15T12:00:00Z'),
  })
  app.get('/', () => Promise.reject(error))
  const { status, headers } = await app.request('/')
  return [status, headers.get('retry-after')]
}

/** Clients, load balancers and our own CLI wait as long as the header says, and guess without it. */
test.each<ErrorCode>(['RATE_LIMITED', 'QUOTA_EXCEEDED', 'UNAVAILABLE', 'CLUSTER_UNAVAILABLE', 'OVERLOADED'])(
  '%s says in its header when to come again, where that is known',
  async (code) => {
    const { status } = ERRORS[code]
    expect(await answeredTo(new ServiceError(code, undefined, { retryAfterSeconds: 7 }))).toEqual([
      status,
      '7',
    ])
    expect(await answeredTo(new ServiceError(code))).toEqual([status, null])
  },
)

test('so does whatever finds the database away', async () => {
  expect(await answeredTo(new DatabaseAway())).toEqual([503, '2'])
})

test.each<[string, ErrorCode, Error]>([
  ['a value that does not fit its column', 'INVALID_REQUEST', Object.assign(new Error(), { code: '22008' })],
  ['a statement that took too long', 'TIMEOUT', Object.assign(new Error(), { code: '57014' })],
  ['a wait that ended', 'TIMEOUT', new DOMException('late', 'TimeoutError')],
  ['a commit that nobody heard of', 'TIMEOUT', Object.assign(new Error(), { code: 'OUTCOME_UNKNOWN' })],
  ['what is of none of these', 'UNEXPECTED', Object.assign(new Error('secret'), { code: '23505' })],
])('%s is %s', (_what, code, error) => {
  expect(asServiceError(error).code).toBe(code)
})

test('what the database says is found in the cause of another error', () => {
  const cause = Object.assign(new Error(), { code: '57014' })
  expect(asServiceError(new Error('Failed query', { cause })).code).toBe('TIMEOUT')
})
