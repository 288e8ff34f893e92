/** A service is `Request -> Promise<Response>`: in this process a function, elsewhere an address. */
import { ServiceError } from '../contracts/errors.ts'
import { EVENT_STREAM } from '../contracts/media-types.ts'
import type { Operation } from '../contracts/operation.ts'
import type { CallOptions } from './call-options.ts'

/** One in this process is also called with values, which does the same without a Request and a Response. */
export type Service = ((request: Request) => Promise<Response>) & {
  readonly callInProcess?: CallInProcess | undefined
}

/** Undefined where the operation can be reached by a request only. */
export type CallInProcess = (
  operation: Operation,
  input: Record<string, unknown>,
  options: CallOptions,
) => Promise<unknown> | undefined

/** The origin of in-process requests; only their path is used. */
export const INTERNAL_ORIGIN = 'http://svc.internal'

/**
 * The client's network address as the listener determined it. The listener replaces the header of clients, so inside
 * the process it can be trusted.
 */
export const ADDRESS_HEADER = 'x-svc-address'

/**
 * Set by processes without a database when they call one that has one. It counts from private networks and TRUSTED_PROXIES:
 * whoever else sends it there makes receipts of endings take longer.
 */
export const REMOTE_HEADER = 'x-svc-remote'

/** Below the time-outs of our own clients, and above the 25 seconds that a runner or worker may wait for work. */
const NETWORK_TIMEOUT_MS = 28_000

export const overNetwork =
  (base: URL, { timeoutMs = NETWORK_TIMEOUT_MS } = {}): Service =>
  (request) => {
    const { pathname, search } = new URL(request.url)
    const headers = new Headers(request.headers)
    const address = headers.get(ADDRESS_HEADER)
    headers.delete(ADDRESS_HEADER)
    // The other process uses it only if this one is among its TRUSTED_PROXIES.
    if (address) headers.set('x-forwarded-for', address)
    headers.delete('host')
    return fetch(new URL(pathname + search, base), {
      method: request.method,
      headers,
      body: request.body,
      // Needed by fetch for a streamed body; the type does not know it yet.
      ...(request.body ? { duplex: 'half' } : {}),
      redirect: 'manual',
      // What goes on has no time at which it must be over.
      signal:
        headers.get('accept') === EVENT_STREAM
          ? request.signal
          : AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]),
    }).catch((error: unknown) => {
      // `fetch` throws this type when the peer is unreachable.
      if (!(error instanceof TypeError)) throw error
      throw new ServiceError('TIMEOUT', 'A service that this request needs cannot be reached', {
        cause: error,
      })
    })
  }
