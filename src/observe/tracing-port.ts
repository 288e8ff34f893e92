/** The port to tracing; without an endpoint it does nothing. */
export type TracedRequest = {
  method: string
  headers: Iterable<[name: string, value: string]>
  /** A call within the process, which goes on in the trace that it is made in. */
  isWithin?: boolean
}
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
