/** One HTTP request to a server that may be down, slow, or not svc at all: a response, or an error with a hint. */
import type { IncomingHttpHeaders } from 'node:http'
import { ServiceError } from '../contracts/errors.ts'
import type { Proxy } from './proxy.ts'
import type { RouteOptions } from './proxy-route.ts'
import { UnreachableError } from './unreachable-error.ts'

export type HttpRequest = {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly timeoutMs: number
  readonly proxy?: Proxy | undefined
  /** Ends the request at once. */
  readonly signal?: AbortSignal | undefined
}
export type HttpResponse = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Uint8Array
  /** The same as text. */
  readonly body: string
}

/** More than any response of ours; a server that never stops sending must not fill the memory. */
const RESPONSE_MAX_BYTES = 64 * 1024 * 1024

/** Redirects are not followed: they could carry the token to another server. */
export async function sendRequest(url: URL, request: HttpRequest): Promise<HttpResponse> {
  if (request.proxy) return sendThrough(request.proxy, url, request)
  if (!/(^|\.)localhost$/.test(url.hostname)) return sendTo(direct(url), url, request)
  // RFC 6761, 6.3: the name never leaves this machine. Asking the resolver costs as much as the rest of the request, and
  // some resolvers return only one of the two addresses.
  return sendTo(direct(url, '127.0.0.1'), url, request).catch((error: unknown) => {
    if (!wasRefused(error)) throw error
    return sendTo(direct(url, '::1'), url, request).catch(() => {
      throw error
    })
  })
}

/** The connection that a request is written to. */
type Connection = {
  readonly secure: boolean
  readonly options: RouteOptions
  readonly failed: (error: Error) => ServiceError
}

const direct = (url: URL, address?: string): Connection => ({
  secure: url.protocol === 'https:',
  options: {
    // Without an agent the connection closes after the response, and the process can end.
    agent: false,
    ...(address !== undefined && { hostname: address, servername: url.hostname }),
  },
  failed: (error) => unreachable(url, error),
})

/** One time limit for the tunnel and the request in it. */
async function sendThrough(proxy: Proxy, url: URL, request: HttpRequest): Promise<HttpResponse> {
  const { openRoute, proxyUnreachable } = await import('./proxy-route.ts')
  const began = Date.now()
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), request.timeoutMs)
  const signal = request.signal ? AbortSignal.any([late.signal, request.signal]) : late.signal
  const route = await openRoute(proxy, url, { signal })
    .catch((error: unknown) => {
      throw late.signal.aborted ? timedOut(url, request.timeoutMs) : error
    })
    .finally(() => clearTimeout(timer))
  const failed = (error: Error) =>
    url.protocol === 'https:' ? unreachable(url, error) : proxyUnreachable(proxy, url, error)
  return sendTo({ ...route, failed }, url, request, Date.now() - began)
}

const wasRefused = (error: unknown): boolean =>
  error instanceof Error && (error.cause as { code?: string } | undefined)?.code === 'ECONNREFUSED'

function sendTo(connection: Connection, url: URL, request: HttpRequest, spentMs = 0): Promise<HttpResponse> {
  const { method, headers, body, timeoutMs, signal } = request
  const { secure, options, failed } = connection
  // Not `import`: on Node 22 and 24 its namespace alone costs more than the request, and on Node 20 `fetch` does.
  const { request: open } = process.getBuiltinModule(secure ? 'node:https' : 'node:http')
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const sent = open(url, {
      ...options,
      method,
      headers: { ...options.headers, ...headers, ...length, host: url.host },
      ...(signal && { signal }),
    })
    const fail = (error: Error) => {
      clearTimeout(timer)
      sent.destroy()
      reject(error)
    }
    const timer = setTimeout(() => fail(timedOut(url, timeoutMs)), Math.max(1, timeoutMs - spentMs))
    sent.on('error', (error) => fail(failed(error)))
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size > RESPONSE_MAX_BYTES) fail(tooLarge(url))
      })
      response.on('error', (error) => fail(failed(error)))
      response.on('end', () => {
        clearTimeout(timer)
        const bytes = Buffer.concat(chunks)
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes,
          get body() {
            return bytes.toString('utf8')
          },
        })
      })
    })
    sent.end(body)
  })
}

const timedOut = (url: URL, ms: number): ServiceError =>
  new ServiceError('TIMEOUT', `${url.origin} did not respond within ${ms / 1000} s`, {
    hint: 'Try again, or wait longer with --timeout <seconds>.',
  })

/** Somebody was there, and may have done what was asked. */
const SPOKE = /^(ECONNRESET|EPIPE|HPE_)/

const CHECK = 'Check that the server is running at this URL: svc doctor'

const tooLarge = (url: URL): ServiceError =>
  new ServiceError('UNEXPECTED', `${url.origin} sent a response that is too large`, { hint: CHECK })

function unreachable(url: URL, error: Error & { code?: string }): ServiceError {
  const code = error.code ?? ''
  if (code === 'ETIMEDOUT') {
    return new ServiceError('TIMEOUT', `${url.origin} is unreachable: the connection timed out`, {
      hint: CHECK,
      cause: error,
    })
  }
  const [what, hint = CHECK] = describeFailure(code, url)
  const message = `${url.origin} ${what}`
  return SPOKE.test(code)
    ? new ServiceError('UNEXPECTED', message, { hint, cause: error })
    : new UnreachableError(message, { hint, cause: error })
}

function describeFailure(code: string, { hostname }: URL): readonly [what: string, hint?: string] {
  if (code === 'ECONNREFUSED') return ['is unreachable: connection refused']
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return [`is unreachable: unknown host ${hostname}`]
  if (code === 'ECONNRESET' || code === 'EPIPE') return ['closed the connection']
  if (/WRONG_VERSION_NUMBER|^EPROTO$/.test(code))
    return ['does not support TLS', 'Check whether the URL should start with http://']
  if (/CERT|SIGNATURE|ISSUER|^ERR_(TLS|SSL)/.test(code)) {
    return [
      `has an untrusted certificate (${code})`,
      'For a private certificate authority, set NODE_EXTRA_CA_CERTS to its certificate.',
    ]
  }
  if (code.startsWith('HPE_')) return ['does not speak HTTP']
  return [`is unreachable${code === '' ? '' : ` (${code})`}`]
}
