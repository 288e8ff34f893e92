/** An operation's answer as it stands on the wire, for tests that compare bytes and headers. */
import type * as z from 'zod'
import { httpClient, type CallOptions } from '../../src/client/http-client.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import type { TestSystem } from './system.ts'

/** `text` without the one thing that differs between two equal answers, the request id. */
export type Answer = { readonly status: number; readonly headers: Headers; readonly text: string }

export async function answerTo<I extends z.ZodObject, O extends z.ZodObject>(
  system: TestSystem,
  who: CallOptions & { headers?: Record<string, string> },
  operation: Operation<I, O>,
  input: z.input<I>,
): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Response>()
  const call = httpClient(async (request) => {
    const { pathname, search } = new URL(request.url)
    for (const [name, value] of Object.entries(who.headers ?? {})) request.headers.set(name, value)
    const response = await system.fetch(pathname + search, request)
    resolve(response.clone())
    return response
  }, who)
  // What the client makes of it does not matter here.
  await call(operation, input).catch(() => undefined)
  const seen = await promise
  const text = (await seen.text()).replaceAll(/"request_id":"[^"]*"/g, '"request_id":"…"')
  return { status: seen.status, headers: seen.headers, text }
}
