/** The port to tracing; without an endpoint it does nothing. */
export type TracedRequest = { method: string; headers: Iterable<[name: string, value: string]> }
export type TracedAnswer = { route: string; status: number }

export type Tracing = {
  /** Runs one request of a service inside a span that continues the trace of the client. */
  request(service: string, request: TracedRequest, work: () => Promise<TracedAnswer>): Promise<TracedAnswer>
  /** Writes the running trace into the headers of an outgoing call. */
  inject(headers: Headers): void
  stop(): Promise<void>
}

export const noTracing: Tracing = {
  request: (_service, _request, work) => work(),
  inject() {},
  async stop() {},
}
