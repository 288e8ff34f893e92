/** OpenTelemetry traces, sent over OTLP/HTTP; this module is only loaded when an endpoint is configured. */
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import type { Tracing } from './tracing-port.ts'

/** For all attempts to send one batch. A stop waits for the last batch, and the collector may be gone by then. */
const EXPORT_MS = 3_000

export function startTracing(options: { endpoint: URL; version: string }): Tracing {
  // The OTLP specification: signals live below the base endpoint.
  const url = new URL('v1/traces', options.endpoint.href.replace(/\/?$/, '/')).href
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'svc', 'service.version': options.version }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url, timeoutMillis: EXPORT_MS }))],
  })
  provider.register()
  const tracer = trace.getTracer('svc')
  return {
    request(service, request, work) {
      const parent = propagation.extract(context.active(), Object.fromEntries(request.headers))
      const options = {
        kind: SpanKind.SERVER,
        attributes: { 'http.request.method': request.method, 'svc.service': service },
      }
      return tracer.startActiveSpan(`${service} ${request.method}`, options, parent, async (span) => {
        try {
          const done = await work()
          // The route's name, never the path: a path may hold a secret.
          span.updateName(`${service} ${done.route}`)
          span.setAttributes({ 'http.route': done.route, 'http.response.status_code': done.status })
          if (done.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
          return done
        } finally {
          span.end()
        }
      })
    },
    inject(headers) {
      const carrier: Record<string, string> = {}
      propagation.inject(context.active(), carrier)
      for (const [name, value] of Object.entries(carrier)) headers.set(name, value)
    },
    // Spans that cannot be sent are lost; the stop succeeds all the same.
    stop: () => provider.shutdown().catch(() => {}),
  }
}
