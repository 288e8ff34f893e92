/** The one way out to an address that a user can steer: it reaches public https hosts and nothing of ours. */
import { Resolver } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import type { GuardedFetch } from '../../cores/needs.ts'
import { isPublicAddress } from './public-address.ts'

/** `reason` is for the log. Shown to the user who steered, it would map the network for them. */
export class FetchRefused extends Error {
  override readonly name = 'FetchRefused'
  readonly reason: string

  constructor(reason: string) {
    super('The address cannot be fetched')
    this.reason = reason
  }
}

/** For tests, which serve on loopback under names of their own. */
type Options = {
  resolve?: (hostname: string, signal: AbortSignal) => Promise<readonly string[]>
  allowAddress?: (address: string) => boolean
  ca?: string
}

export function guardedFetch(options: Options = {}): GuardedFetch {
  const { resolve = askDns, allowAddress = isPublicAddress, ca } = options

  return async function guardedFetch(address, { headers = {}, maxBytes, deadlineMs }) {
    const url = readUrl(address)
    // One deadline over everything, from the first name server to the last byte.
    const signal = AbortSignal.timeout(deadlineMs)

    async function fetchOnce() {
      const addresses = await allowedAddresses(url, signal)
      signal.throwIfAborted()
      return receive(await send(url, addresses, headers, signal), maxBytes)
    }

    try {
      return await Promise.race([fetchOnce(), endOf(signal)])
    } catch (error) {
      if (error instanceof FetchRefused) throw error
      throw new FetchRefused(signal.aborted ? 'deadline' : `connection failed: ${codeOf(error)}`)
    }
  }

  /** Every one of them, because the connection may be made to any. */
  async function allowedAddresses({ hostname }: URL, signal: AbortSignal): Promise<readonly string[]> {
    const literal = hostname.replace(/^\[(.*)\]$/, '$1')
    const addresses = isIP(literal) ? [literal] : await resolve(hostname, signal)
    if (addresses.length === 0) throw new FetchRefused('the name has no address')
    if (!addresses.every(allowAddress)) throw new FetchRefused('address not public')
    return addresses
  }

  function send(
    url: URL,
    addresses: readonly string[],
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      request(url, {
        headers: headersToSend(url, headers),
        signal,
        // Resolved once: a second resolution could answer with another address than the one that was checked.
        lookup: pinnedTo(addresses),
        // No kept connection and no proxy, either of which would lead past the pinned addresses.
        agent: false,
        // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
        rejectUnauthorized: true,
        ...(ca === undefined ? {} : { ca }),
      })
        .on('response', resolve)
        .on('error', reject)
        // An answer that switches protocols ends in this alone: neither a response nor an error.
        .on('close', () => reject(new FetchRefused('connection failed: closed')))
        .end()
    })
  }
}

/** Reading it also turns every spelling of an IPv4 address (decimal, hex, short, full-width) into the usual one. */
function readUrl(address: string): URL {
  const url = URL.parse(address)
  if (!url) throw new FetchRefused('not a URL')
  if (url.protocol !== 'https:') throw new FetchRefused('not https')
  // The text as well: the parser forgets a user name that is empty, and tells `\` from `/` as little as browsers do.
  if (!/^https:\/\/[^/?#@\\\s]+(?:[/?#]|$)/i.test(address)) throw new FetchRefused('unusual authority')
  return url
}

/**
 * By c-ares and not by getaddrinfo, which cannot be cancelled and waits on one of the few threads that also hash
 * passwords: a slow name server would stop sign-in. Nor does it read a hosts file or try search domains.
 */
async function askDns(hostname: string, signal: AbortSignal): Promise<readonly string[]> {
  // A lost packet must not use up a deadline of two or three seconds.
  const resolver = new Resolver({ timeout: 500, tries: 3 })
  signal.addEventListener('abort', () => resolver.cancel(), { once: true })
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
}

function endOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new FetchRefused('deadline')), { once: true })
  })
}

function headersToSend({ host }: URL, asked: Record<string, string>): Record<string, string> {
  const headers = new Headers(asked)
  // Node also takes the name that the certificate must carry from here.
  headers.set('host', host)
  // Nothing is decompressed, so that the limit counts what a reader gets.
  headers.set('accept-encoding', 'identity')
  return Object.fromEntries(headers)
}

function pinnedTo(addresses: readonly string[]): LookupFunction {
  const pinned = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, { all }, answer) =>
    // Later, as a real lookup would: a connection that fails at once would do so before anybody listens for its
    // error, and that ends the process.
    process.nextTick(() =>
      all ? answer(null, pinned) : answer(null, pinned[0]?.address ?? '', pinned[0]?.family),
    )
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

function headersOf({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  return headers
}

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

/** Node's own word for it; messages may quote what the other side said. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^\w{1,60}$/.test(code) ? code : 'unknown'
}
