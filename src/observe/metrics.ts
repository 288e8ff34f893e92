/** Prometheus metrics of this process: its requests, jobs and sends, the queue of messages, and those of Node itself. */
import { setTimeout as sleep } from 'node:timers/promises'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

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
  const register = new Registry()
  collectDefaultMetrics({ register })
  const requests = new Histogram({
    name: 'svc_http_request_duration_seconds',
    help: 'Time to answer, by service, operation and status.',
    labelNames: ['service', 'route', 'method', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [register],
  })
  const jobs = new Histogram({
    name: 'svc_job_duration_seconds',
    help: 'Time a background job took.',
    labelNames: ['job'],
    buckets: [0.01, 0.1, 1, 10, 60],
    registers: [register],
  })
  const failures = new Counter({
    name: 'svc_job_failures_total',
    help: 'Background jobs that failed.',
    labelNames: ['job'],
    registers: [register],
  })
  const attempts = new Counter({
    name: 'svc_notification_attempts_total',
    help: 'Attempts to send a message, by channel and outcome.',
    labelNames: ['channel', 'outcome'],
    registers: [register],
  })
  const refusals = new Counter({
    name: 'svc_http_requests_refused_total',
    help: 'Requests refused with OVERLOADED before any service saw them, by reason.',
    labelNames: ['reason'],
    registers: [register],
  })
  let exposeQueue = async (): Promise<void> => {}
  return {
    observeQueue(read) {
      exposeQueue = queueGauges(register, read)
    },
    observeRefusal(reason) {
      refusals.inc({ reason })
    },
    observeOpenRequests(read) {
      const gauge = (name: string, help: string, count: () => number) =>
        new Gauge({
          name,
          help,
          registers: [register],
          collect() {
            this.set(count())
          },
        })
      gauge(
        'svc_http_requests_open',
        'Requests that have started and are not answered yet.',
        () => read().open,
      )
      gauge('svc_http_requests_waiting', 'Requests that wait for their turn to start.', () => read().waiting)
    },
    observeAttempt(channel, outcome) {
      attempts.inc({ channel, outcome })
    },
    observeRequest({ seconds, status, ...labels }) {
      requests.observe({ ...labels, status: String(status) }, seconds)
    },
    observeJob(job, outcome, seconds) {
      jobs.observe({ job }, seconds)
      if (outcome === 'failed') failures.inc({ job })
    },
    async expose() {
      await exposeQueue()
      return { text: await register.metrics(), type: register.contentType }
    },
  }
}

/** A database that does not answer must not take the metrics of the process with it. */
const QUEUE_READ_MS = 2_000

function queueGauges(register: Registry, read: () => Promise<ObservedQueue>): () => Promise<void> {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [register] })
  const due = gauge('svc_notification_messages_due', 'Messages whose time has come, not on their way yet.')
  const inFlight = gauge('svc_notification_messages_in_flight', 'Messages whose attempt has no outcome yet.')
  const events = gauge('svc_notification_events_waiting', 'Events whose deliveries are not made yet.')
  const circuits = gauge(
    'svc_notification_circuits_open',
    'Targets that did not answer several times in a row.',
  )
  const oldest = new Gauge({
    name: 'svc_notification_oldest_waiting_seconds',
    help: 'How long the oldest due message or event of an organization waits, of the 100 that wait longest.',
    labelNames: ['organization'],
    registers: [register],
  })
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
        oldest.set({ organization: orgId }, Math.max(0, Date.now() - waitingSince.getTime()) / 1000)
    }
  }
}
