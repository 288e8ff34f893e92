/** `fetch` for hosts that the operator names: through the proxy where it covers them, otherwise Node's own. */
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps, type RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import { Readable } from 'node:stream'
import type { OutboundProxy } from './proxy.ts'

type Fetch = typeof globalThis.fetch

/** Node's own cannot be given a proxy without a package. `ca` is for tests. */
export function proxiedFetch(proxy: OutboundProxy | undefined, { ca }: { ca?: string } = {}): Fetch {
  if (!proxy) return globalThis.fetch
  return async (input, init) => {
    const asked = new Request(input, init)
    const url = new URL(asked.url)
    if (!proxy.covers(url)) return globalThis.fetch(input, init)
    try {
      const connection = await proxy.connect(url, asked.signal, ca)
      return await send(asked, { createConnection: () => connection })
    } catch (cause) {
      throw failedFetch(asked, cause)
    }
  }
}

/**
 * The same for a host that is asked again and again: connections are kept for a minute, where Node's own closes them after
 * four seconds without a request.
 */
export function keptFetch(proxy: OutboundProxy | undefined, { ca }: { ca?: string } = {}) {
  const kept = { keepAlive: true, timeout: KEPT_MS }
  const agents = { plain: new HttpAgent(kept), direct: new HttpsAgent(kept), proxied: new HttpsAgent(kept) }
  agents.proxied.createConnection = ({ host, port }, connected) => {
    const url = new URL(`https://${isIP(host ?? '') === 6 ? `[${host}]` : host}:${port}`)
    proxy!.connect(url, AbortSignal.timeout(CONNECT_MS), ca).then(
      (connection) => connected?.(null, connection),
      (error: Error) => connected?.(error, undefined as never),
    )
    return undefined
  }
  const agentFor = (url: URL) =>
    url.protocol === 'http:' ? agents.plain : proxy?.covers(url) ? agents.proxied : agents.direct
  const fetch: Fetch = async (input, init) => {
    const asked = new Request(input, init)
    try {
      return await send(asked, { agent: agentFor(new URL(asked.url)) })
    } catch (cause) {
      throw failedFetch(asked, cause)
    }
  }
  return {
    fetch,
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

const KEPT_MS = 60_000
const CONNECT_MS = 10_000

/** As Node's own says it, so that callers need not know which one it was. */
function failedFetch({ signal }: Request, cause: unknown): Error {
  signal.throwIfAborted()
  return new TypeError('fetch failed', { cause })
}

/** None is followed: it leads to a host that nobody named. */
const isRedirect = (status: number): boolean => status >= 300 && status < 400 && status !== 304

async function send(
  asked: Request,
  by: Pick<RequestOptions, 'agent' | 'createConnection'>,
): Promise<Response> {
  const url = new URL(asked.url)
  const request = url.protocol === 'http:' ? requestHttp : requestHttps
  const body = Buffer.from(await asked.arrayBuffer())
  const headers = { ...Object.fromEntries(asked.headers), 'content-length': String(body.length) }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method: asked.method, headers, signal: asked.signal, ...by })
      .on('response', resolve)
      .on('error', reject)
      .on('close', () => reject(new Error('connection closed')))
      .end(body)
  })
  const { statusCode: status = 0, headersDistinct } = answer
  const received = new Headers(
    Object.entries(headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    ),
  )
  if (isRedirect(status) && asked.redirect !== 'manual') {
    answer.resume()
    throw new Error('unexpected redirect')
  }
  // Some statuses forbid a body, and the other side chooses the status.
  const isEmpty = status === 204 || status === 205 || status === 304
  if (isEmpty) answer.resume()
  return new Response(isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>), {
    status,
    headers: received,
  })
}
