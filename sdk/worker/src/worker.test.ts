import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import type { Api } from './api.ts'
import { chooseCredentials } from './credentials.ts'
import { createLog } from './log.ts'
import { retryDelayMs } from './pause.ts'
import { runJob, type PipelineContext, type PipelineFunction } from './run-job.ts'
import { readSettings, type WorkerOptions } from './settings.ts'
import { describeError } from './texts.ts'
import { stopTimes, TIMING } from './timing.ts'
import { startableWorker, type Worker } from './worker.ts'

type Body = Record<string, unknown>
type Answer = {
  readonly status?: number
  readonly body?: object
  /** Instead of JSON. */
  readonly text?: string
  readonly hang?: true
  readonly headers?: Record<string, string>
}
type Request = { readonly path: string; readonly token: string; readonly body: Body }

const APP = '/api/deploy/apps/shop/pipeline-runs'
const FAST = {
  ...TIMING,
  waitSeconds: 0,
  claimSettledMs: 0,
  jitterMs: 2,
  firstRetryMs: 2,
  longestRetryMs: 10,
  abandonMs: 20,
}
/** Ten times a second, in a lease that outlasts any test. */
const KEPT_OFTEN = { ...FAST, keepsPerLease: 600 }

const abortOf = async (signal: AbortSignal): Promise<unknown> => {
  if (!signal.aborted) await once(signal, 'abort')
  return signal.reason
}

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
  vi.restoreAllMocks()
})

/** A server that answers as it is told, and remembers what it was asked. */
async function serve(answer: (request: Request, nth: number) => Answer) {
  const requests: Request[] = []
  const server = createServer((incoming, outgoing) => void respond(incoming, outgoing))
  async function respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const request = await readRequest(incoming)
    requests.push(request)
    const nth = requests.filter(({ path }) => path === request.path).length
    const { status = 200, body = {}, text = JSON.stringify(body), hang, headers = {} } = answer(request, nth)
    if (hang) return
    outgoing.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUps.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { apiUrl, requests, to: (path: string) => requests.filter((one) => one.path === path) }
}

async function readRequest(incoming: IncomingMessage): Promise<Request> {
  let text = ''
  for await (const part of incoming.setEncoding('utf8')) text += String(part)
  return {
    path: incoming.url ?? '',
    token: incoming.headers.authorization ?? '',
    body: JSON.parse(text) as Body,
  }
}

const NOTHING = { body: { run: null, fence: null, lease_seconds: 60 } }
const claimed = (id: string, leaseSeconds = 60, pipeline = 'nightly') => ({
  body: {
    run: { id, pipeline, scheduled: true, due_at: '2026-11-16T03:00:00.000Z' },
    fence: 7,
    lease_seconds: leaseSeconds,
  },
})
const refused = (status: number, headers = {}) => ({
  status,
  headers,
  body: { error: { code: 'X', message: `no: ${status}` } },
})

/** One run, and then none. */
const oneRun =
  (others: (request: Request, nth: number) => Answer | undefined = () => undefined, leaseSeconds = 60) =>
  (request: Request, nth: number): Answer => {
    const other = others(request, nth)
    if (other) return other
    if (request.path !== `${APP}/claim`) return {}
    return nth === 1 ? claimed('prn_1', leaseSeconds) : NOTHING
  }

function work(
  apiUrl: string,
  nightly: PipelineFunction,
  options: Partial<WorkerOptions> = {},
  env: Record<string, string> = { SERVER_API_TOKEN: 'svca_given' },
  timing = FAST,
): { worker: Worker; running: Promise<void> } {
  const settings = readSettings({ app: 'shop', name: 'w', apiUrl, pipelines: { nightly }, ...options }, env)
  const worker = startableWorker(settings, timing, silent)
  const running = worker.run()
  cleanUps.push(async () => {
    await worker.stop()
    await running
  })
  return { worker, running }
}

const silent = () => {}

test('a run is claimed, done and reported, with what the function says', async () => {
  const server = await serve(oneRun())
  const seen: PipelineContext[] = []
  work(server.apiUrl, (context) => {
    seen.push(context)
    return 'All sent'
  })
  await expect
    .poll(() => server.to(`${APP}/prn_1/finish`).map(({ body }) => body))
    .toEqual([{ fence: 7, succeeded: true, message: 'All sent' }])
  expect(seen[0]).toMatchObject({
    fence: 7,
    run: { id: 'prn_1', pipeline: 'nightly', scheduled: true, dueAt: new Date('2026-11-16T03:00:00Z') },
  })
  expect(server.requests[0]).toMatchObject({
    token: 'Bearer svca_given',
    body: { worker: 'w', pipelines: ['nightly'], wait_seconds: 0 },
  })
})

test('an event is sent under one key until the server has it, and what it refuses is thrown', async () => {
  const events = '/api/deploy/apps/shop/events'
  const server = await serve(
    oneRun(({ path, body }, nth) => {
      if (path !== events) return undefined
      if (body['subject'] === 'bad one') return refused(400)
      return nth === 1 ? refused(503) : { status: 201 }
    }),
  )
  work(server.apiUrl, async ({ sendEvent }) => {
    await sendEvent({ name: 'order_failed', subject: 'order-1', text: 'The card was declined' })
    await sendEvent({ name: 'order_failed', subject: 'bad one', key: 'mine' })
  })
  await expect
    .poll(() => server.to(`${APP}/prn_1/finish`)[0]?.body)
    .toMatchObject({ succeeded: false, message: expect.stringContaining('no: 400') })
  const [first, again, bad, ...more] = server.to(events).map(({ body }) => body)
  expect(first).toEqual({
    type: 'app.shop.order_failed',
    subject: 'order-1',
    text: 'The card was declined',
    idempotency_key: expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
  expect([again, bad?.['idempotency_key'], more]).toEqual([first, 'mine', []])
})

test('a function that throws has failed, with its message cut to what the server takes', async () => {
  const server = await serve(oneRun())
  work(server.apiUrl, () => {
    throw new Error(`${'x'.repeat(999)}🎉`)
  })
  await expect
    .poll(() => server.to(`${APP}/prn_1/finish`)[0]?.body)
    .toEqual({
      fence: 7,
      succeeded: false,
      message: 'x'.repeat(999),
    })
})

test('a claim whose answer was lost is repeated with the same id, and the next one has another', async () => {
  const server = await serve((request, nth) => {
    if (request.path !== `${APP}/claim`) return {}
    return nth <= 2 ? refused(503) : NOTHING
  })
  work(server.apiUrl, silent)
  await expect.poll(() => server.requests.length).toBeGreaterThanOrEqual(5)
  const ids = server.requests.map(({ body }) => body['claim_id'])
  expect(ids.slice(0, 3)).toEqual([ids[0], ids[0], ids[0]])
  expect(new Set(ids.slice(2, 5)).size).toBe(3)
})

test('a report is repeated until it arrives, also while the token is renewed, and given up where the server knows better', async () => {
  const passing = [401, 503]
  const server = await serve(
    oneRun(({ path }, nth) => {
      const status = path.endsWith('/finish') ? passing[nth - 1] : undefined
      return status === undefined ? undefined : refused(status)
    }),
  )
  work(server.apiUrl, silent)
  await expect.poll(() => server.to(`${APP}/prn_1/finish`).length).toBe(3)
  const other = await serve(oneRun(({ path }) => (path.endsWith('/finish') ? refused(409) : undefined)))
  work(other.apiUrl, silent)
  await expect.poll(() => other.to(`${APP}/claim`).length).toBeGreaterThan(3)
  expect(other.to(`${APP}/prn_1/finish`)).toHaveLength(1)
})

test('a run is kept while it lasts, and its signal says when it is not ours any more', async () => {
  const server = await serve(
    oneRun(({ path }, nth) => (path.endsWith('/keep') && nth === 3 ? refused(409) : undefined)),
  )
  let reason: unknown
  const losing = async ({ signal }: PipelineContext) => {
    reason = await abortOf(signal)
    throw new Error('given up')
  }
  work(server.apiUrl, losing, {}, undefined, KEPT_OFTEN)
  await expect.poll(() => server.to(`${APP}/prn_1/finish`)[0]?.body).toMatchObject({ succeeded: false })
  expect(server.to(`${APP}/prn_1/keep`).map(({ body }) => body)).toEqual([
    { fence: 7 },
    { fence: 7 },
    { fence: 7 },
  ])
  expect(String(reason)).toContain('The run is lost: no: 409')
})

test('a server that is away for longer than the claim lasts ends the run; a shorter time does not', async () => {
  const away = await serve(oneRun(({ path }) => (path.endsWith('/keep') ? refused(500) : undefined), 0.05))
  let reason: unknown
  work(away.apiUrl, async ({ signal }) => void (reason = await abortOf(signal)))
  await expect.poll(() => String(reason)).toContain('could not be reached for too long')
  const back = await serve(
    oneRun(({ path }, nth) => (path.endsWith('/keep') && nth === 1 ? refused(500) : undefined)),
  )
  let isAborted: boolean | undefined
  const kept = async ({ signal }: PipelineContext) => {
    await expect.poll(() => back.to(`${APP}/prn_1/keep`).length).toBeGreaterThanOrEqual(2)
    isAborted = signal.aborted
  }
  work(back.apiUrl, kept, {}, undefined, KEPT_OFTEN)
  await expect.poll(() => isAborted).toBe(false)
})

test('a server that does not answer ends the run when the claim does, and not when the request does', async () => {
  const server = await serve(oneRun(({ path }) => (path.endsWith('/keep') ? { hang: true } : undefined), 0.3))
  let reason: unknown
  const timing = { ...FAST, requestMs: 600_000 }
  work(server.apiUrl, async ({ signal }) => void (reason = await abortOf(signal)), {}, undefined, timing)
  await expect.poll(() => String(reason)).toContain('could not be reached for too long')
})

test('a claim lasts from the moment it was asked for, less a margin', async () => {
  const never = new AbortController().signal
  const api: Api = (path, _body, { signal }) =>
    path.endsWith('/finish')
      ? Promise.resolve({})
      : new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('hung up'))))
  const deps = {
    api,
    path: APP,
    log: createLog(silent),
    timing: TIMING,
    stop: { told: never, abandoned: never, givenUp: never },
    sendEvent: () => Promise.resolve(),
  }
  const run = { id: 'prn_1', pipeline: 'nightly', scheduled: true, dueAt: new Date() }
  const claim = { run, fence: 7, leaseMs: 60_000, sentAt: performance.now() - 56_950 }
  let reason: unknown
  await runJob(deps, claim, async ({ signal }) => void (reason = await abortOf(signal)))
  expect(String(reason)).toContain('could not be reached for too long')
})

test('what is thrown need not be an error, nor have a text: the run has failed, and the worker goes on', async () => {
  const thrown = [
    Object.create(null) as object,
    Object.assign(new Error(), { message: { odd: true } }),
    Symbol('odd'),
  ]
  const server = await serve(({ path }, nth) => {
    if (path !== `${APP}/claim`) return {}
    return nth <= thrown.length ? claimed(`prn_${nth}`) : NOTHING
  })
  let n = 0
  work(server.apiUrl, () => Promise.reject(thrown[n++]))
  const reports = () => server.requests.filter(({ path }) => path.endsWith('/finish'))
  await expect.poll(() => reports().length).toBe(3)
  expect(reports().map(({ body }) => body['message'])).toEqual([
    'something that is no text',
    '[object Object]',
    'Symbol(odd)',
  ])
})

test('what hides behind a failed request is told', () => {
  const cause = Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' })
  expect(describeError(new TypeError('fetch failed', { cause }))).toBe('fetch failed (ECONNREFUSED)')
})

test('an answer that is no run begins nothing, and one that is no JSON accepts nothing', async () => {
  const server = await serve((request, nth) => {
    if (request.path.endsWith('/finish') && nth === 1) return { text: '<html>back soon</html>' }
    if (request.path !== `${APP}/claim`) return {}
    if (nth === 1) return { body: {} }
    if (nth === 2) return { body: { ...claimed('prn_0').body, lease_seconds: 0 } }
    return nth === 3 ? claimed('prn_1') : NOTHING
  })
  work(server.apiUrl, silent)
  await expect.poll(() => server.to(`${APP}/prn_1/finish`).length).toBe(2)
  expect(server.requests.filter(({ path }) => path.includes('prn_0'))).toEqual([])
})

test('a token in a file is read at every request, and one that is given goes first', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-worker-'))
  cleanUps.push(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'token')
  writeFileSync(file, 'first\n')
  const server = await serve(() => NOTHING)
  work(server.apiUrl, silent, {}, { SVC_WORKLOAD_TOKEN_FILE: file })
  await expect.poll(() => server.requests.at(-1)?.token).toBe('Bearer first')
  writeFileSync(file, 'second\n')
  await expect.poll(() => server.requests.at(-1)?.token).toBe('Bearer second')
  const both = await serve(() => NOTHING)
  work(both.apiUrl, silent, {}, { SVC_WORKLOAD_TOKEN_FILE: file, SERVER_API_TOKEN: 'given' })
  await expect.poll(() => both.requests[0]?.token).toBe('Bearer given')
})

test('no more runs at a time than it may', async () => {
  let [now, most] = [0, 0]
  const server = await serve(({ path }, nth) => {
    if (path !== `${APP}/claim`) return {}
    return nth <= 6 ? claimed(`prn_${nth}`) : NOTHING
  })
  const nightly = async () => {
    most = Math.max(most, (now += 1))
    await sleep(20)
    now -= 1
  }
  work(server.apiUrl, nightly, { concurrency: 2 })
  const reports = () => server.requests.filter(({ path }) => path.endsWith('/finish')).length
  await expect.poll(reports).toBe(6)
  expect(most).toBe(2)
})

test('stopping waits for a run, and claims nothing more', async () => {
  const server = await serve(oneRun())
  const { worker, running } = work(server.apiUrl, async () => {
    await sleep(100)
    return 'done'
  })
  await expect.poll(() => server.to(`${APP}/claim`).length).toBe(1)
  await worker.stop()
  await running
  expect(server.to(`${APP}/prn_1/finish`).map(({ body }) => body)).toMatchObject([{ succeeded: true }])
  expect(server.to(`${APP}/claim`)).toHaveLength(1)
})

test('a run that does not end is told to, then reported as stopped', async () => {
  const server = await serve(oneRun())
  let signal: AbortSignal | undefined
  const deaf = (context: PipelineContext) => {
    signal = context.signal
    return new Promise(() => {})
  }
  const { worker } = work(server.apiUrl, deaf, { stopSeconds: 0.05 })
  await expect.poll(() => signal).toBeDefined()
  await worker.stop()
  expect(signal?.aborted).toBe(true)
  expect(server.to(`${APP}/prn_1/finish`)[0]?.body).toEqual({
    fence: 7,
    succeeded: false,
    message: 'The worker was stopped',
  })
})

test('a worker that stops repeats a report until it arrives: the server may restart at the same time', async () => {
  const server = await serve(
    oneRun(({ path }, nth) => (path.endsWith('/finish') && nth <= 6 ? refused(503) : undefined)),
  )
  let began = false
  const deaf = () => {
    began = true
    return new Promise(() => {})
  }
  const { worker } = work(server.apiUrl, deaf, { stopSeconds: 0.05 })
  await expect.poll(() => began).toBe(true)
  await worker.stop()
  expect(server.to(`${APP}/prn_1/finish`)).toHaveLength(7)
})

test('stopping ends in time, whatever does not answer', async () => {
  vi.spyOn(console, 'warn').mockImplementation(silent)
  const server = await serve(oneRun(({ path }) => (path === `${APP}/claim` ? undefined : { hang: true })))
  let began = false
  const deaf = () => {
    began = true
    return new Promise(() => {})
  }
  const options = { stopSeconds: 0.3, forwardLogs: true }
  const timing = { ...FAST, requestMs: 600_000, lastReportsMs: 50, leastMs: 50 }
  const { worker } = work(server.apiUrl, deaf, options, undefined, timing)
  await expect.poll(() => began).toBe(true)
  // No request ends by itself.
  await worker.stop()
  expect(server.to(`${APP}/prn_1/finish`)).toHaveLength(1)
})

test('the time for stopping has room for reports and lines, also where it is short', () => {
  expect(stopTimes(25_000, TIMING)).toEqual({
    tellJobs: 17_000,
    abandonJobs: 20_000,
    giveUpReports: 24_000,
  })
  expect(stopTimes(8_000, TIMING)).toEqual({ tellJobs: 4_000, abandonJobs: 5_500, giveUpReports: 7_000 })
  expect(stopTimes(0, TIMING)).toEqual({ tellJobs: 0, abandonJobs: 0, giveUpReports: 1_000 })
})

test('stopping hangs up a claim that waits', async () => {
  const server = await serve(({ path }, nth) =>
    path === `${APP}/claim` && nth > 1 ? { hang: true } : NOTHING,
  )
  const { worker, running } = work(server.apiUrl, silent)
  await expect.poll(() => server.requests.length).toBe(2)
  await worker.stop()
  await running
})

test('it waits as long as the server says', async () => {
  // Timers of the same length end in the order in which they began.
  let second: AbortSignal | undefined
  let wasOver: boolean | undefined
  const server = await serve((_request, nth) => {
    if (nth > 1) wasOver ??= second?.aborted
    second ??= AbortSignal.timeout(1_000)
    return nth === 1 ? refused(429, { 'retry-after': '1' }) : NOTHING
  })
  work(server.apiUrl, silent)
  await expect.poll(() => server.requests.length).toBeGreaterThan(1)
  expect(wasOver).toBe(true)
})

test('lines are forwarded over OTLP where that was asked for, with the run behind them', async () => {
  const server = await serve(
    oneRun(({ path }, nth) => (path === '/v1/logs' && nth === 1 ? refused(503) : undefined)),
  )
  const { worker } = work(
    server.apiUrl,
    ({ log }) => {
      log.debug('not this')
      log.warn('a card was declined', { order: 17 })
    },
    { forwardLogs: { service: 'nights' } },
  )
  await expect.poll(() => server.to(`${APP}/prn_1/finish`).length).toBe(1)
  await worker.stop()
  const sent = server.to('/v1/logs').at(-1)?.body as {
    resourceLogs: { resource: object; scopeLogs: { logRecords: Body[] }[] }[]
  }
  const [of] = sent.resourceLogs
  expect(of!.resource).toEqual({
    attributes: [{ key: 'service.name', value: { stringValue: 'nights' } }],
  })
  const lines = of!.scopeLogs[0]!.logRecords
  expect(JSON.stringify(lines)).not.toContain('not this')
  expect(lines.find(({ severityNumber }) => severityNumber === 13)).toMatchObject({
    body: { stringValue: 'a card was declined' },
    attributes: [
      { key: 'pipeline', value: { stringValue: 'nightly' } },
      { key: 'run', value: { stringValue: 'prn_1' } },
      { key: 'order', value: { doubleValue: 17 } },
    ],
  })
})

test('lines are forwarded whatever is in them, and what the server did not take is told', async () => {
  const warned = vi.spyOn(console, 'warn').mockImplementation(silent)
  const server = await serve(
    oneRun(({ path }, nth) => {
      if (path !== '/v1/logs') return undefined
      return nth === 1 ? refused(503) : { body: { partialSuccess: { rejectedLogRecords: '2' } } }
    }),
  )
  const loop: Record<string, unknown> = {}
  loop['self'] = loop
  const { worker } = work(
    server.apiUrl,
    ({ log }) => {
      log.info('odd', { rows: 10n, loop, none: Number.NaN, bare: Object.create(null) as object } as never)
      log.error(new Error('thrown') as never)
      log.info('x'.repeat(20_000))
    },
    { forwardLogs: true },
  )
  await expect.poll(() => server.to(`${APP}/prn_1/finish`).length).toBe(1)
  await worker.stop()
  const records = server
    .to('/v1/logs')
    .flatMap(
      ({ body }) =>
        (body as { resourceLogs: { scopeLogs: { logRecords: { body: { stringValue: string } }[] }[] }[] })
          .resourceLogs[0]!.scopeLogs[0]!.logRecords,
    )
  expect(records.find(({ body }) => body.stringValue === 'odd')).toMatchObject({
    attributes: [
      { key: 'pipeline' },
      { key: 'run' },
      { key: 'rows', value: { stringValue: '10' } },
      { key: 'loop', value: { stringValue: '[object Object]' } },
      { key: 'none', value: { stringValue: 'NaN' } },
      { key: 'bare', value: { stringValue: 'something that is no text' } },
    ],
  })
  const texts = records.map(({ body }) => body.stringValue)
  expect(texts).toEqual(expect.arrayContaining(['thrown', 'x'.repeat(16_384)]))
  expect(warned.mock.calls.flat()).toEqual([
    'Log lines wait: no: 503',
    'The server did not take every log line',
    expect.stringMatching(/^\d+ log lines were not forwarded\.$/),
  ])
})

test('without being asked nothing is forwarded', async () => {
  const server = await serve(oneRun())
  const { worker } = work(server.apiUrl, ({ log }) => log.warn('here'))
  await expect.poll(() => server.to(`${APP}/prn_1/finish`).length).toBe(1)
  await worker.stop()
  expect(server.to('/v1/logs')).toEqual([])
})

test('a token that cannot be sent is not shown either', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-worker-'))
  cleanUps.push(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'token')
  for (const content of ['svca_one\nsvca_two', 'svca_\u0000one', 'svca_one svca_two', '']) {
    writeFileSync(file, content)
    await expect(chooseCredentials({ SVC_WORKLOAD_TOKEN_FILE: file })()).rejects.toThrow(
      new TypeError(`${file} has no token: it must be one line, without blanks`),
    )
  }
  expect(() => chooseCredentials({ SERVER_API_TOKEN: 'svca_one\nsvca_two' })).toThrow(
    new TypeError('svc-worker: SERVER_API_TOKEN has no token: it must be one line, without blanks'),
  )
})

const WRONG: [string, Partial<WorkerOptions>, Record<string, string>][] = [
  ['name the app', { app: '' }, { SERVER_API_TOKEN: 'x' }],
  ['1 to 100 pipelines', { pipelines: {} }, { SERVER_API_TOKEN: 'x' }],
  ['Nightly must be a lowercase letter', { pipelines: { Nightly: silent } }, { SERVER_API_TOKEN: 'x' }],
  ['must be an http or https address', { apiUrl: 'localhost' }, { SERVER_API_TOKEN: 'x' }],
  ['without a password', { apiUrl: 'https://me:secret@api.example.com' }, { SERVER_API_TOKEN: 'x' }],
  ['without a password or a path', { apiUrl: 'https://example.com/svc' }, { SERVER_API_TOKEN: 'x' }],
  ['concurrency', { concurrency: 0 }, { SERVER_API_TOKEN: 'x' }],
  ['Set SERVER_API_TOKEN', {}, { SVC_WORKLOAD_TOKEN_FILE: '/nowhere/token' }],
  ['Set SERVER_API_TOKEN', {}, { SERVER_API_TOKEN: ' ', SVC_WORKLOAD_TOKEN_FILE: '/nowhere/token' }],
]
test.each(WRONG)('a mistake is told at once: %s', (problem, options, env) => {
  expect(() => readSettings({ app: 'shop', pipelines: { nightly: silent }, ...options }, env)).toThrow(
    problem,
  )
})

test('the environment says what the options do not', () => {
  const env = { SERVER_API_TOKEN: 'x', SVC_APP: 'shop', SVC_API_URL: 'https://api.example.com' }
  const settings = readSettings({ pipelines: { nightly: silent } }, env)
  expect([settings.app, settings.apiUrl.href]).toEqual(['shop', 'https://api.example.com/'])
})

test('every wait is longer than the one before, at most the longest, and never the same for all', () => {
  expect([1, 2, 3, 10].map((failures) => retryDelayMs(failures, 1_000, 60_000, 1))).toEqual([
    1_000, 2_000, 4_000, 60_000,
  ])
  expect(retryDelayMs(3, 1_000, 60_000, 0)).toBe(2_000)
  expect(retryDelayMs(5_000, 1_000, 60_000, 1)).toBe(60_000)
})
