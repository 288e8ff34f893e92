import { expect, test } from 'vitest'
import { DatabaseAway } from '../../db/database-away.ts'
import { ERRORS, ServiceError, type ErrorCode } from '../contracts/errors.ts'
import { noTracing } from '../observe/tracing-port.ts'
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
