/** `fetch` for hosts that the operator names: through the proxy where it covers them, otherwise Node's own. */
import { type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
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
      const response = await send(asked, url, connection)
      if (isRedirect(response.status) && asked.redirect !== 'manual') throw new Error('unexpected redirect')
      return response
    } catch (cause) {
      asked.signal.throwIfAborted()
      // As Node's own says it, so that callers need not know which one it was.
      throw new TypeError('fetch failed', { cause })
    }
  }
}

/** None is followed: it leads to a host that nobody named. */
const isRedirect = (status: number): boolean => status >= 300 && status < 400 && status !== 304

async function send(
  asked: Request,
  url: URL,
  connection: Awaited<ReturnType<OutboundProxy['connect']>>,
): Promise<Response> {
  const body = Buffer.from(await asked.arrayBuffer())
  const headers = { ...Object.fromEntries(asked.headers), 'content-length': String(body.length) }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    requestHttps(url, {
      method: asked.method,
      headers,
      signal: asked.signal,
      createConnection: () => connection,
    })
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
  // Some statuses forbid a body, and the other side chooses the status.
  const isEmpty = status === 204 || status === 205 || status === 304
  if (isEmpty) answer.resume()
  return new Response(isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>), {
    status,
    headers: received,
  })
}
