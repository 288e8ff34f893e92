/** The one way in for documents that a user can point us to: public https hosts, no redirects, and nothing of ours. */
import type { IncomingMessage } from 'node:http'
import { request, type RequestOptions } from 'node:https'
import type { GuardedFetch } from '../../cores/dependencies.ts'
import {
  allowedAddresses,
  askDns,
  beforeDeadline,
  codeOf,
  FetchRefused,
  headersToSend,
  pinnedConnection,
  readUrl,
  refuseKnownInside,
  type Resolve,
} from './guard.ts'
import type { OutboundProxy } from './proxy.ts'
import { isPublicAddress } from './public-address.ts'

type Options = {
  proxy?: OutboundProxy | undefined
  /** These are for tests, which serve on loopback under names of their own. */
  resolve?: Resolve
  allowAddress?: (address: string) => boolean
  ca?: string
}

export function guardedFetch(options: Options = {}): GuardedFetch {
  const { proxy, resolve = askDns, allowAddress: allow = isPublicAddress, ca } = options

  return async function guardedFetch(address, { headers = {}, maxBytes, deadlineMs }) {
    const url = readUrl(address)
    // One deadline over everything, from the first name server to the last byte.
    const signal = AbortSignal.timeout(deadlineMs)

    async function fetchOnce() {
      if (proxy?.covers(url)) {
        await refuseKnownInside(url, { resolve, allow }, signal)
        const connection = await proxy.connect(url, signal, ca)
        return receive(await send(url, { createConnection: () => connection }, headers, signal), maxBytes)
      }
      const addresses = await allowedAddresses(url, { resolve, allow }, signal)
      signal.throwIfAborted()
      return receive(await send(url, pinnedConnection(addresses, ca), headers, signal), maxBytes)
    }

    try {
      return await beforeDeadline(fetchOnce(), signal)
    } catch (error) {
      if (error instanceof FetchRefused) throw error
      throw new FetchRefused(signal.aborted ? 'deadline' : `connection failed: ${codeOf(error)}`)
    }
  }

  function send(
    url: URL,
    connection: RequestOptions,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      request(url, { headers: headersToSend(url, headers), signal, ...connection })
        .on('response', resolve)
        .on('error', reject)
        // An answer that switches protocols ends in this alone: neither a response nor an error.
        .on('close', () => reject(new FetchRefused('connection failed: closed')))
        .end()
    })
  }
}

async function receive(response: IncomingMessage, maxBytes: number): ReturnType<GuardedFetch> {
  try {
    const { statusCode: status = 0 } = response
    // 304 answers a conditional request; the others point to places that nobody has checked.
    if (status >= 300 && status < 400 && status !== 304) throw new FetchRefused('redirect')
    return { status, headers: headersOf(response), body: await readBody(response, maxBytes) }
  } finally {
    response.destroy()
  }
}

const headersOf = ({ headersDistinct }: IncomingMessage): Headers =>
  new Headers(
    Object.entries(headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    ),
  )

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw new FetchRefused('too large')
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new FetchRefused('too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
