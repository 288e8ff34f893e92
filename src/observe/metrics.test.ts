import { describe, expect, test } from 'vitest'
import { createMetrics } from './metrics.ts'

const linesOf = async (metrics: ReturnType<typeof createMetrics>): Promise<string[]> =>
  (await metrics.expose()).text.split('\n')

test('requests are counted and timed by service, operation, method and status', async () => {
  const metrics = createMetrics()
  const seen = { service: 'api-gateway', route: 'whoAmI', method: 'GET', status: 200 }
  metrics.observeRequest({ ...seen, seconds: 0.003 })
  metrics.observeRequest({ ...seen, seconds: 0.2 })
  metrics.observeRequest({ ...seen, status: 401, seconds: 0.001 })
  const labels = 'service="api-gateway",route="whoAmI",method="GET",status'
  expect(await linesOf(metrics)).toEqual(
    expect.arrayContaining([
      '# TYPE svc_http_request_duration_seconds histogram',
      `svc_http_request_duration_seconds_bucket{le="0.005",${labels}="200"} 1`,
      `svc_http_request_duration_seconds_bucket{le="0.25",${labels}="200"} 2`,
      `svc_http_request_duration_seconds_sum{${labels}="200"} 0.203`,
      `svc_http_request_duration_seconds_count{${labels}="200"} 2`,
      `svc_http_request_duration_seconds_count{${labels}="401"} 1`,
    ]),
  )
})

test('jobs are timed, and their failures counted', async () => {
  const metrics = createMetrics()
  metrics.observeJob('sweep', 'done', 0.5)
  metrics.observeJob('sweep', 'failed', 0.5)
  expect(await linesOf(metrics)).toEqual(
    expect.arrayContaining([
      'svc_job_duration_seconds_count{job="sweep"} 2',
      'svc_job_failures_total{job="sweep"} 1',
    ]),
  )
})

test('two systems in one process do not count for each other', async () => {
  const [one, other] = [createMetrics(), createMetrics()]
  one.observeJob('sweep', 'done', 0.5)
  expect((await linesOf(other)).filter((line) => line.startsWith('svc_job_duration_seconds_count'))).toEqual(
    [],
  )
})

test('what a scraper reads also tells how the process itself is doing', async () => {
  const { text, type } = await createMetrics().expose()
  expect(type).toMatch(/^text\/plain; version=0\.0\.4/)
  expect(text).toMatch(/^process_resident_memory_bytes \d/m)
  expect(text).toMatch(/^nodejs_eventloop_lag_seconds \d/m)
  expect(text).toMatch(/^process_cpu_seconds_total \d/m)
  expect(text).toMatch(/^nodejs_version_info\{version="v24\./m)
})

describe('the queue', () => {
  const queue = { due: 3, inFlight: 2, eventsWaiting: 1, circuitsOpen: 4 }
  const oldest = (lines: readonly string[]) =>
    lines.filter((line) => line.startsWith('svc_notification_oldest_waiting_seconds{'))

  test('is read at every scrape, and forgets whoever waits no longer', async () => {
    const metrics = createMetrics()
    const waitingSince = new Date(Date.now() - 60_000)
    const reads = [
      { ...queue, organizations: [{ orgId: 'org_1', waitingSince }] },
      { ...queue, due: 0, organizations: [{ orgId: 'org_1', waitingSince: null }] },
    ]
    metrics.observeQueue(async () => reads.shift()!)
    const lines = await linesOf(metrics)
    expect(lines).toContain('svc_notification_messages_due 3')
    expect(oldest(lines)).toEqual([expect.stringMatching(/^\S+\{organization="org_1"\} 6\d(\.|$)/)])
    const later = await linesOf(metrics)
    expect(later).toContain('svc_notification_messages_due 0')
    expect(oldest(later)).toEqual([])
  })

  test('that cannot be read is not a number, and takes nothing else along', async () => {
    const metrics = createMetrics()
    metrics.observeQueue(() => Promise.reject(new Error('planted')))
    metrics.observeJob('sweep', 'done', 0.5)
    const lines = await linesOf(metrics)
    expect(lines).toContain('svc_notification_messages_due NaN')
    expect(lines).toContain('svc_job_duration_seconds_count{job="sweep"} 1')
  })
})
