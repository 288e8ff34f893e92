/** A service is `Request -> Promise<Response>`: in this process a function, elsewhere an address. */
import { ServiceError } from '../contracts/errors.ts'

export type Service = (request: Request) => Promise<Response>

/** Where in-process requests pretend to go; only their path counts. */
export const INSIDE = 'http://svc.internal'

/**
 * The client's network address as the listener established it. The listener drops the header from outside,
 * so inside the process it can be trusted.
 */
export const ADDRESS_HEADER = 'x-svc-address'

export const inProcess =
  (app: { fetch(request: Request): Response | Promise<Response> }): Service =>
  async (request) =>
    app.fetch(request)

/** A slow peer must not hold our own callers longer than their patience. */
const NETWORK_TIMEOUT_MS = 20_000

export const overNetwork =
  (base: URL): Service =>
  (request) => {
    const { pathname, search } = new URL(request.url)
    const headers = new Headers(request.headers)
    const address = headers.get(ADDRESS_HEADER)
    headers.delete(ADDRESS_HEADER)
    // Over there it counts only if this process is one of their TRUSTED_PROXIES.
    if (address) headers.set('x-forwarded-for', address)
    headers.delete('host')
    return fetch(new URL(pathname + search, base), {
      method: request.method,
      headers,
      body: request.body,
      // Needed by fetch for a streamed body; the type does not know it yet.
      ...(request.body ? { duplex: 'half' } : {}),
      redirect: 'manual',
      signal: AbortSignal.any([request.signal, AbortSignal.timeout(NETWORK_TIMEOUT_MS)]),
    }).catch((error: unknown) => {
      // `fetch` speaks of a peer that is not there by this type alone; nobody's mistake, and it may be back soon.
      if (!(error instanceof TypeError)) throw error
      throw new ServiceError('TIMEOUT', 'A service that is needed for this cannot be reached now', {
        cause: error,
      })
    })
  }
