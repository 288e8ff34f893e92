/**
 * Traces, sent as JSON over OTLP/HTTP; this module is only loaded when an endpoint is configured. Our own, because the packages of
 * OpenTelemetry for it are larger than everything else that serves requests together.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tracing } from './tracing-port.ts'

/** For all attempts to send one batch. A stop waits for the last batch, and the collector may be gone by then. */
const EXPORT_MS = 3_000
const RETRY_MS = 500
/** As OpenTelemetry's own processor does by default: sent so often, so many at once, and so many kept while nobody takes them. */
const [FLUSH_MS, BATCH_MAX, KEPT_MAX] = [5_000, 512, 2_048]
/** Answers after which the specification has a client try again. */
const PASSING = new Set([429, 502, 503, 504])

export type TracingOptions = {
  readonly endpoint: URL
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly version: string
}

export function startTracing({ endpoint, headers = {}, version }: TracingOptions): Tracing {
  // The OTLP specification: signals live below the base endpoint.
  const url = new URL('v1/traces', endpoint.href.replace(/\/?$/, '/'))
  const current = new AsyncLocalStorage<SpanContext>()
  const exporter = startExporter((spans) => send(url, headers, exportOf(spans, version)))
  return {
    async request(service, request, work) {
      // What comes from outside may be started by somebody else's request, whose trace it is not part of.
      const context = continueTrace(
        new Map(request.headers),
        request.isWithin ? current.getStore() : undefined,
      )
      const startMs = Date.now()
      const began = performance.now()
      const span = { name: `${service} ${request.method}`, attributes: {}, isFailed: false }
      try {
        const done = await current.run(context, work)
        // The route's name, never the path: a path may hold a secret.
        span.name = `${service} ${done.route}`
        span.attributes = { 'http.route': done.route, 'http.response.status_code': done.status }
        span.isFailed = done.status >= 500
        return done
      } finally {
        const endMs = startMs + performance.now() - began
        const attributes = {
          'http.request.method': request.method,
          'svc.service': service,
          ...span.attributes,
        }
        if (context.isSampled) exporter.add({ ...context, ...span, attributes, startMs, endMs })
      }
    },
    inject(outgoing) {
      const context = current.getStore()
      if (!context) return
      outgoing.set('traceparent', `00-${context.traceId}-${context.spanId}-0${context.isSampled ? 1 : 0}`)
      if (context.traceState !== undefined) outgoing.set('tracestate', context.traceState)
    },
    stop: () => exporter.stop(),
  }
}

type SpanContext = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  /** Whoever began the trace decides whether it is recorded. */
  readonly isSampled: boolean
}

type Span = SpanContext & {
  readonly name: string
  readonly attributes: Readonly<Record<string, string | number>>
  readonly isFailed: boolean
  readonly startMs: number
  readonly endMs: number
}

/** W3C Trace Context: later versions may add to the end, ff is none, and zeros are no id. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
/** What the specification has everybody pass on at least. */
const TRACESTATE_MAX = 512

/** `within`: what called this in the same process, without a request that could carry headers. */
export function continueTrace(headers: ReadonlyMap<string, string>, within?: SpanContext): SpanContext {
  const spanId = randomBytes(8).toString('hex')
  const [, version, traceId, parentSpanId, flags = '', more] =
    TRACEPARENT.exec(headers.get('traceparent')?.trim() ?? '') ?? []
  if (traceId === undefined || parentSpanId === undefined || (version === '00' && more !== undefined))
    return within
      ? { ...within, spanId, parentSpanId: within.spanId }
      : { traceId: randomBytes(16).toString('hex'), spanId, isSampled: true }
  const traceState = headers.get('tracestate')?.trim()
  return {
    traceId,
    spanId,
    parentSpanId,
    ...(traceState && traceState.length <= TRACESTATE_MAX ? { traceState } : {}),
    isSampled: (Number.parseInt(flags, 16) & 1) === 1,
  }
}

/** Spans that cannot be sent are lost: nobody's request waits for them, and a stop succeeds all the same. */
function startExporter(take: (spans: readonly Span[]) => Promise<void>) {
  const waiting: Span[] = []
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined
  let isStopping = false
  let isTaken = true
  const flush = (): Promise<void> =>
    (sending ??= sendAll().finally(() => {
      sending = undefined
      if (waiting.length > 0 && !isStopping) schedule()
    }))
  async function sendAll(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    do
      isTaken = await take(waiting.splice(0, BATCH_MAX)).then(
        () => true,
        () => false,
      )
    while (isStopping ? isTaken && waiting.length > 0 : waiting.length >= BATCH_MAX)
  }
  function schedule(): void {
    timer ??= setTimeout(() => void flush(), FLUSH_MS).unref()
  }
  return {
    add(span: Span): void {
      if (waiting.length >= KEPT_MAX) return
      waiting.push(span)
      if (waiting.length >= BATCH_MAX) void flush()
      else schedule()
    },
    async stop(): Promise<void> {
      isStopping = true
      clearTimeout(timer)
      // What is under way sends all that waits, unless the collector does not answer: then nobody waits for it once more.
      if (sending === undefined) isTaken = true
      await sending
      if (isTaken && waiting.length > 0) await flush()
    },
  }
}

async function send(url: URL, headers: Readonly<Record<string, string>>, body: object): Promise<void> {
  const signal = AbortSignal.timeout(EXPORT_MS)
  const init = {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    // The headers may hold a credential of the collector.
    redirect: 'error' as const,
    signal,
  }
  while (!signal.aborted) {
    const answer = await fetch(url, init).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer && !PASSING.has(answer.status)) return
    await sleep(RETRY_MS, undefined, { signal })
  }
}

/** ExportTraceServiceRequest in OTLP's JSON: ids in hex, times as decimal texts. */
const exportOf = (spans: readonly Span[], version: string): object => ({
  resourceSpans: [
    {
      resource: { attributes: attributesOf({ 'service.name': 'svc', 'service.version': version }) },
      scopeSpans: [{ scope: { name: 'svc' }, spans: spans.map(spanOf) }],
    },
  ],
})

const [SERVER, ERROR] = [2, 2]

const spanOf = ({ traceId, spanId, parentSpanId, traceState, ...span }: Span): object => ({
  traceId,
  spanId,
  ...(parentSpanId === undefined ? {} : { parentSpanId }),
  ...(traceState === undefined ? {} : { traceState }),
  name: span.name,
  kind: SERVER,
  startTimeUnixNano: nanoseconds(span.startMs),
  endTimeUnixNano: nanoseconds(span.endMs),
  attributes: attributesOf(span.attributes),
  status: span.isFailed ? { code: ERROR } : {},
})

/** Microseconds are as much as a number holds of today. */
const nanoseconds = (ms: number): string => `${Math.round(ms * 1000)}000`

const attributesOf = (attributes: Readonly<Record<string, string | number>>): object[] =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }))
