/** `fetch` for the checks of `svc doctor --mcp`: through the proxy of the environment, which Node's own does not know. */
import { sendRequest } from './http-request.ts'
import { proxyFor } from './proxy.ts'

/** Redirects are not followed, and bodies are texts: all that the checks need. */
export const proxiedFetch =
  (env: Readonly<Record<string, string | undefined>>): typeof fetch =>
  async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const proxy = proxyFor(url, env)
    if (!proxy) return fetch(input, init)
    const { status, headers, bytes } = await sendRequest(url, {
      method: init.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(typeof init.body === 'string' && { body: init.body }),
      // The signal ends it before.
      timeoutMs: TIMEOUT_MS,
      proxy,
      signal: init.signal ?? undefined,
    })
    const received = Object.entries(headers).flatMap(([name, value = []]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    )
    // Fetch, null body status.
    const isEmpty = [204, 205, 304].includes(status)
    return new Response(isEmpty ? null : new Uint8Array(bytes), { status, headers: received })
  }

const TIMEOUT_MS = 60_000
