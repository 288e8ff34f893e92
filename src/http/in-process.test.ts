/** A service called over HTTP and within its process: the same answers, errors, log lines, metrics and spans. */
import { describe, expect, test, vi } from 'vitest'
import { httpClient, type CallOptions } from '../client/http-client.ts'
import type { Service } from '../client/service.ts'
import { reportToolCall } from '../contracts/activity.ts'
import { listAskableDataSources, queryDataSource, showQuota } from '../contracts/data-sources.ts'
import { ServiceError } from '../contracts/errors.ts'
import { acknowledgeNotification } from '../contracts/inbox.ts'
import type { Principal } from '../contracts/operation.ts'
import type { TokenValidation } from '../cores/identity/index.ts'
import type { ObservedRequest } from '../observe/metrics.ts'
import type { Tracing } from '../observe/tracing-port.ts'
import { mount } from './mount.ts'
import { createServiceApp } from './service-app.ts'

const NOTIFICATION = `ntf_${'1'.repeat(25)}`
const QUOTA = {
  minute: { limit: 60, left: 59, resets_at: '2026-11-15T12:01:00.000Z' },
  day: { limit: 5000, left: 4990, resets_at: '2026-11-16T00:00:00.000Z' },
}
const QUESTION = { source_id: 'db_notes', query: 'what?' }

type Verb = (principal: Principal, input: never) => Promise<unknown>
type Verbs = Record<string, Verb>

const validation = (token: string): TokenValidation => ({
  valid: true,
  kind: 'actor',
  user: { id: 'usr_1', email: 'ada@example.com', name: 'Ada' },
  organization: { id: 'org_1', name: 'Northwind', slug: 'northwind' },
  role: 'viewer',
  scopes: token === 'narrow' ? [] : ['data:read', 'notifications:read'],
  audiences: ['api'],
  expires_at: null,
})

/** One service that does what the test says, and everything that was observed about it. */
function observed(verbs: Verbs, deadlineMs = 30_000) {
  const seen = {
    lines: [] as [level: string, event: string, fields: object][],
    metrics: [] as Partial<ObservedRequest>[],
    spans: [] as object[],
    refusals: [] as string[],
    inputs: [] as unknown[],
  }
  const write =
    (level: string) =>
    (event: string, fields: Record<string, unknown> = {}) =>
      void seen.lines.push([level, event, { ...fields, ms: 0 }])
  const tracing: Tracing = {
    async request(service, { method, headers }, work) {
      const answered = await work()
      const { traceparent } = Object.fromEntries(headers) as { traceparent?: string }
      seen.spans.push({ service, method, traceparent, ...answered })
      return answered
    },
    inject() {},
    async stop() {},
  }
  const app = createServiceApp('api-gateway', {
    log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    metrics: {
      observeRequest: ({ seconds: _varies, ...request }) => void seen.metrics.push(request),
      observeJob() {},
      observeAttempt() {},
      observeQueue() {},
      observeRefusal() {},
      observeOpenRequests() {},
      expose: async () => ({ text: '', type: '' }),
    },
    tracing,
    clock: () => new Date('2026-11-15T12:00:00Z'),
    deadlineMs,
  })
  const known = Object.fromEntries(
    Object.entries(verbs).map(([name, verb]) => [
      name,
      () => (principal: Principal, input: never) => {
        seen.inputs.push({ principal, input })
        return verb(principal, input)
      },
    ]),
  )
  mount(
    app,
    known,
    {},
    {
      operatorToken: undefined,
      validate: async ({ token, organization }) => {
        if (token === 'ended') throw new ServiceError('UNAUTHENTICATED')
        const valid = validation(token)
        return organization === undefined ? valid : { ...valid, organization: null, role: null }
      },
      recordRefusal: async (_principal, error) => void seen.refusals.push((error as ServiceError).code),
    },
  )
  const wire: Service = async (request) => app.fetch(request)
  return { seen, wire, direct: Object.assign(wire.bind(null), { callInProcess: app.inProcess.call }) }
}

type CallBy = (service: Service) => Promise<unknown>

/** Everything about a call, by either way. */
async function outcomeOf(verbs: Verbs, way: 'wire' | 'direct', call: CallBy, deadlineMs?: number) {
  const { seen, ...services } = observed(verbs, deadlineMs)
  const outcome = await call(services[way]).then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error: asPlain(error) }),
  )
  return { ...outcome, seen }
}

const asPlain = (error: unknown) => {
  if (!(error instanceof ServiceError)) return error
  const { code, message, hint, problems, retryAfterSeconds, cause } = error
  return { code, message, hint, problems, retryAfterSeconds, cause }
}

const AS: CallOptions = {
  token: 'a-token',
  requestId: 'req_of_the_test',
  address: '192.0.2.7',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  entryPoint: 'console',
}

describe.each<[string, Verbs, CallBy]>([
  ['an answer', { showQuota: async () => QUOTA }, (at) => httpClient(at, AS)(showQuota, {})],
  [
    'more than the contract declares, and values that JSON leaves out',
    { showQuota: async () => ({ ...QUOTA, secret: 'undeclared', day: { ...QUOTA.day, more: undefined } }) },
    (at) => httpClient(at, AS)(showQuota, {}),
  ],
  [
    'query parameters',
    { listAskableDataSources: async () => ({ data_sources: [] }) },
    (at) => httpClient(at, AS)(listAskableDataSources, { limit: 7, cursor: undefined }),
  ],
  [
    'a body and a parameter in the path, in any script',
    { queryDataSource: async () => ({ count: 0, results: [] }) },
    (at) => httpClient(at, AS)(queryDataSource, { ...QUESTION, query: 'wéird /?%🦜', filters: { n: 1 } }),
  ],
  [
    'nothing to answer',
    { reportToolCall: async () => ({}) },
    (at) =>
      httpClient(at, AS)(reportToolCall, {
        name: 'whoami',
        outcome: 'answered',
        error: undefined,
        duration_ms: 1,
        question_bytes: 2,
        answer_bytes: 3,
      }),
  ],
  [
    'an answer that breaks the contract',
    { showQuota: async () => ({ minute: 'nonsense' }) },
    (at) => httpClient(at, AS)(showQuota, {}),
  ],
  [
    'a refusal with everything it may carry',
    {
      showQuota: () =>
        Promise.reject(
          new ServiceError('RATE_LIMITED', 'Slowly', {
            hint: 'Wait.',
            problems: ['a', 'b'],
            retryAfterSeconds: 7,
            cause: new Error('10.0.0.7'),
          }),
        ),
    },
    (at) => httpClient(at, AS)(showQuota, {}),
  ],
  [
    'an exception',
    { showQuota: () => Promise.reject(new Error('10.0.0.7')) },
    (at) => httpClient(at, AS)(showQuota, {}),
  ],
  [
    'an id of the wrong format',
    { acknowledgeNotification: async () => ({}) },
    (at) => httpClient(at, AS)(acknowledgeNotification, { notification_id: 'x/y' }),
  ],
  [
    'an input with problems, of an operation that records its refusals',
    { queryDataSource: async () => ({}) },
    (at) => httpClient(at, AS)(queryDataSource, { ...QUESTION, query: '', top_k: 99, surplus: 1 } as never),
  ],
  [
    'a body that is too large',
    { queryDataSource: async () => ({}) },
    (at) => httpClient(at, AS)(queryDataSource, { ...QUESTION, query: 'x'.repeat(2_000_000) }),
  ],
  [
    'text with NUL',
    { queryDataSource: async () => ({}) },
    (at) => httpClient(at, AS)(queryDataSource, { ...QUESTION, query: 'a\0b' }),
  ],
  ...(['ended', 'narrow', 'two words', '', 'x'.repeat(10_000)] as const).map(
    (token): [string, Verbs, CallBy] => [
      `the token ${JSON.stringify(token.slice(0, 12))}`,
      { showQuota: async () => QUOTA },
      (at) => httpClient(at, { ...AS, token })(showQuota, {}),
    ],
  ),
  [
    'another organization',
    { showQuota: async () => QUOTA },
    (at) => httpClient(at, { ...AS, organization: 'org_2' })(showQuota, {}),
  ],
  [
    'a request id that could forge a log line, and nothing else known',
    { showQuota: async () => QUOTA },
    async (at) => {
      const call = httpClient(at, { token: 'a-token', requestId: 'a{"b' })(showQuota, {})
      return call
    },
  ],
])('%s', (_what, verbs, call) => {
  test('is the same within the process as over HTTP', async () => {
    const [wire, direct] = [await outcomeOf(verbs, 'wire', call), await outcomeOf(verbs, 'direct', call)]
    expect(anonymous(direct)).toEqual(anonymous(wire))
    expect(direct.seen.lines).toHaveLength(1)
    expect(direct.seen.spans).toHaveLength(1)
    // `toEqual` takes what is absent and what is undefined for the same.
    if ('answer' in direct && 'answer' in wire) expect(direct.answer).toStrictEqual(wire.answer)
  })
})

/** A request id that the service made itself is another one each time, and every Request has a signal of its own. */
const anonymous = (value: object): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, inner: unknown) => {
      if (inner instanceof AbortSignal) return undefined
      return inner instanceof Error ? { name: inner.name, message: inner.message } : inner
    }).replaceAll(/req_[0-9a-z]{25}/g, 'req_made'),
  )

test('an acknowledged notification takes the same way', async () => {
  const verbs = { acknowledgeNotification: async () => ({ id: NOTIFICATION, read: true, read_at: 'x' }) }
  const call: CallBy = (at) => httpClient(at, AS)(acknowledgeNotification, { notification_id: NOTIFICATION })
  expect(anonymous(await outcomeOf(verbs, 'direct', call))).toEqual(
    anonymous(await outcomeOf(verbs, 'wire', call)),
  )
})

test('neither side can change what the other one holds', async () => {
  const kept = structuredClone(QUOTA)
  const { direct } = observed({ showQuota: async () => kept })
  const answer = await httpClient(direct, AS)(showQuota, {})
  answer.minute.left = 0
  expect(kept).toEqual(QUOTA)
})

test.each(['wire', 'direct'] as const)('a call that takes too long times out: %s', async (way) => {
  const never = { showQuota: () => new Promise<never>(() => {}) }
  const call: CallBy = (at) => httpClient(at, AS)(showQuota, {})
  const { seen, ...outcome } = await outcomeOf(never, way, call, 10)
  expect(outcome).toMatchObject({ error: { code: 'TIMEOUT' } })
  expect(seen.metrics).toEqual([{ service: 'api-gateway', route: 'showQuota', method: 'GET', status: 504 }])
  expect(seen.lines).toMatchObject([['error', 'request failed', { status: 504 }]])
})

test('a caller that has gone does not wait, and the call is logged when it ends', async () => {
  const work = Promise.withResolvers<typeof QUOTA>()
  const { direct, seen } = observed({ showQuota: () => work.promise })
  const gone = new AbortController()
  const call = httpClient(direct, { ...AS, signal: gone.signal })(showQuota, {}).catch(asPlain)
  gone.abort(new Error('gone'))
  expect(await call).toEqual(new Error('gone'))
  expect(seen.lines).toEqual([])
  work.resolve(QUOTA)
  await expect.poll(() => seen.lines).toMatchObject([['info', 'request', { status: 200 }]])
  await expect(httpClient(direct, { ...AS, signal: gone.signal })(showQuota, {})).rejects.toThrow('gone')
})

test('a call of a caller that has gone before it is not begun', async () => {
  const begun = vi.fn<() => Promise<typeof QUOTA>>(async () => QUOTA)
  const { direct, seen } = observed({ showQuota: begun })
  const signal = AbortSignal.abort(new Error('gone'))
  await expect(httpClient(direct, { ...AS, signal })(showQuota, {})).rejects.toThrow('gone')
  expect(begun).not.toHaveBeenCalled()
  expect(seen.lines).toEqual([])
})

test('an operation that a service does not do is asked for by a request', async () => {
  const { direct, seen } = observed({})
  await expect(httpClient(direct, AS)(showQuota, {})).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(seen.lines).toMatchObject([['info', 'request refused', { route: 'unmatched' }]])
})
