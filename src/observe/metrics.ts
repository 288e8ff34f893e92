/** Prometheus metrics of this process: its requests, jobs and sends, the queue of messages, and those of Node itself. */
import { setTimeout as sleep } from 'node:timers/promises'
import { observeNode } from './node-metrics.ts'
import { CONTENT_TYPE, createRegistry, type Registry } from './prometheus.ts'

/** In seconds. */
const REQUEST_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const JOB_BUCKETS = [0.01, 0.1, 1, 10, 60]

export type ObservedRequest = {
  service: string
  route: string
  method: string
  status: number
  seconds: number
}

/** Of the messages to send. */
export type ObservedQueue = {
  readonly due: number
  readonly inFlight: number
  readonly eventsWaiting: number
  readonly circuitsOpen: number
  readonly organizations: readonly { readonly orgId: string; readonly waitingSince: Date | null }[]
}

/** Why a request was refused before any service saw it. */
export type RefusalReason = 'line_full' | 'waited_too_long' | 'too_many_pipelined'

export type Metrics = {
  observeRefusal(reason: RefusalReason): void
  /** Reads how many requests are being answered and how many wait for their turn, when the metrics are asked for. */
  observeOpenRequests(read: () => { readonly open: number; readonly waiting: number }): void
  observeRequest(request: ObservedRequest): void
  observeJob(job: string, outcome: 'done' | 'failed', seconds: number): void
  observeAttempt(channel: string, outcome: string): void
  /** Reads the queue when the metrics are asked for. It is the whole installation's, and the same in every process. */
  observeQueue(read: () => Promise<ObservedQueue>): void
  /** The exposition text and its content type. */
  expose(): Promise<{ text: string; type: string }>
}

export function createMetrics(): Metrics {
  const registry = createRegistry()
  observeNode(registry)
  const requests = registry.histogram(
    'svc_http_request_duration_seconds',
    'Time to answer, by service, operation and status.',
    REQUEST_BUCKETS,
  )
  const jobs = registry.histogram('svc_job_duration_seconds', 'Time a background job took.', JOB_BUCKETS)
  const failures = registry.counter('svc_job_failures_total', 'Background jobs that failed.')
  const attempts = registry.counter(
    'svc_notification_attempts_total',
    'Attempts to send a message, by channel and outcome.',
  )
  const refusals = registry.counter(
    'svc_http_requests_refused_total',
    'Requests refused with OVERLOADED before any service saw them, by reason.',
  )
  let exposeQueue = async (): Promise<void> => {}
  return {
    observeQueue(read) {
      exposeQueue = queueGauges(registry, read)
    },
    observeRefusal(reason) {
      refusals.add({ reason })
    },
    observeOpenRequests(read) {
      const gauge = (name: string, help: string, count: () => number) =>
        registry.read('gauge', name, help, count)
      gauge(
        'svc_http_requests_open',
        'Requests that have started and are not answered yet.',
        () => read().open,
      )
      gauge('svc_http_requests_waiting', 'Requests that wait for their turn to start.', () => read().waiting)
    },
    observeAttempt(channel, outcome) {
      attempts.add({ channel, outcome })
    },
    observeRequest({ seconds, status, ...labels }) {
      requests.observe(seconds, { ...labels, status: String(status) })
    },
    observeJob(job, outcome, seconds) {
      jobs.observe(seconds, { job })
      if (outcome === 'failed') failures.add({ job })
    },
    async expose() {
      await exposeQueue()
      return { text: registry.text(), type: CONTENT_TYPE }
    },
  }
}

/** A database that does not answer must not take the metrics of the process with it. */
const QUEUE_READ_MS = 2_000

function queueGauges(registry: Registry, read: () => Promise<ObservedQueue>): () => Promise<void> {
  const due = registry.gauge(
    'svc_notification_messages_due',
    'Messages whose time has come, not on their way yet.',
  )
  const inFlight = registry.gauge(
    'svc_notification_messages_in_flight',
    'Messages whose attempt has no outcome yet.',
  )
  const events = registry.gauge(
    'svc_notification_events_waiting',
    'Events whose deliveries are not made yet.',
  )
  const circuits = registry.gauge(
    'svc_notification_circuits_open',
    'Targets that did not answer several times in a row.',
  )
  const oldest = registry.gauge(
    'svc_notification_oldest_waiting_seconds',
    'How long the oldest due message or event of an organization waits, of the 100 that wait longest.',
  )
  let reading: Promise<ObservedQueue | undefined> | undefined
  const readOnce = () =>
    (reading ??= read()
      .catch(() => undefined)
      .finally(() => (reading = undefined)))
  return async () => {
    const queue = await Promise.race([readOnce(), sleep(QUEUE_READ_MS, undefined, { ref: false })])
    // Not a number rather than the last one: nobody knows.
    due.set(queue?.due ?? NaN)
    inFlight.set(queue?.inFlight ?? NaN)
    events.set(queue?.eventsWaiting ?? NaN)
    circuits.set(queue?.circuitsOpen ?? NaN)
    oldest.reset()
    for (const { orgId, waitingSince } of queue?.organizations ?? []) {
      if (waitingSince)
        oldest.set(Math.max(0, Date.now() - waitingSince.getTime()) / 1000, { organization: orgId })
    }
  }
}
