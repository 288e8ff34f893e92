/** What the rest of the house knows of tracing: nothing happens unless an endpoint is configured. */
export type Answered = { route: string; response: Response }

export type Tracing = {
  /** Runs one request of a service inside a span that continues the caller's trace. */
  request(service: string, request: Request, work: () => Promise<Answered>): Promise<Answered>
  /** Writes the running trace into the headers of an outgoing call. */
  inject(headers: Headers): void
  stop(): Promise<void>
}

export const noTracing: Tracing = {
  request: (_service, _request, work) => work(),
  inject() {},
  async stop() {},
}
