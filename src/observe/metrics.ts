/** Prometheus metrics of this process: its requests, jobs and sends, and those of Node itself. */
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'

export type ObservedRequest = {
  service: string
  route: string
  method: string
  status: number
  seconds: number
}

export type Metrics = {
  observeRequest(request: ObservedRequest): void
  observeJob(job: string, outcome: 'done' | 'failed', seconds: number): void
  observeAttempt(channel: string, outcome: string): void
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
  return {
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
      return { text: await register.metrics(), type: register.contentType }
    },
  }
}
