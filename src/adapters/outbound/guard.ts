/** What every way out to a steered address shares: how an address is read, where it may lead, and that it leads there. */
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'

/** `reason` is for the log. Shown to the user who steered, it would map the network for them. */
export class FetchRefused extends Error {
  override readonly name = 'FetchRefused'
  readonly reason: string

  constructor(reason: string) {
    super('The address cannot be fetched')
    this.reason = reason
  }
}

export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>

/** Reading it also turns every spelling of an IPv4 address (decimal, hex, short, full-width) into the usual one. */
export function readUrl(address: string, { http = false } = {}): URL {
  const url = URL.parse(address)
  if (!url) throw new FetchRefused('not a URL')
  if (url.protocol !== 'https:' && !(http && url.protocol === 'http:')) throw new FetchRefused('not https')
  // The text as well: the parser forgets a user name that is empty, and tells `\` from `/` as little as browsers do.
  if (!/^https?:\/\/[^/?#@\\\s]+(?:[/?#]|$)/i.test(address)) throw new FetchRefused('unusual authority')
  return url
}

/** Every one of them, because the connection may be made to any. */
export async function allowedAddresses(
  { hostname }: URL,
  { resolve, allow }: { resolve: Resolve; allow: (address: string) => boolean },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const literal = hostname.replace(/^\[(.*)\]$/, '$1')
  const addresses = isIP(literal) ? [literal] : await resolve(hostname, signal)
  if (addresses.length === 0) throw new FetchRefused('the name has no address')
  if (!addresses.every(allow)) throw new FetchRefused('address not public')
  return addresses
}

/** Where there is no name server for the outside, asking it must not use up the deadline. */
const INSIDE_LOOKUP_MS = 500

/**
 * The proxy resolves the name, and its rules decide where that leads. What is refused here is what we know ourselves:
 * addresses as such, and names that our own name servers place inside. A name they do not know is the proxy's.
 */
export async function refuseKnownInside(
  { hostname, port }: URL,
  { resolve, allow }: { resolve: Resolve; allow: (address: string) => boolean },
  signal: AbortSignal,
): Promise<void> {
  // The usual one alone: whatever else listens behind the proxy is not a web site.
  if (port !== '') throw new FetchRefused('port')
  const literal = hostname.replace(/^\[(.*)\]$/, '$1')
  const soon = AbortSignal.any([signal, AbortSignal.timeout(INSIDE_LOOKUP_MS)])
  const addresses = isIP(literal)
    ? [literal]
    : await beforeDeadline(resolve(hostname, soon), soon).catch(() => [])
  signal.throwIfAborted()
  if (!addresses.every(allow)) throw new FetchRefused('address not public')
}

/**
 * By c-ares and not by getaddrinfo, which cannot be cancelled and waits on one of the few threads that also hash
 * passwords: a slow name server would stop sign-in. Nor does it read a hosts file or try search domains.
 */
export async function askDns(hostname: string, signal: AbortSignal): Promise<readonly string[]> {
  // RFC 6761, 6.3: never asked of a name server.
  if (/(^|\.)localhost\.?$/.test(hostname)) return ['127.0.0.1']
  // A lost packet must not use up a deadline of two or three seconds.
  const resolver = new Resolver({ timeout: 500, tries: 3 })
  signal.addEventListener('abort', () => resolver.cancel(), { once: true })
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
}

/** What asking for a document tells Node: over the addresses that were checked and no others. */
export function pinnedConnection(addresses: readonly string[], ca: string | undefined) {
  return {
    // Resolved once: a second resolution could answer with another address than the one that was checked.
    lookup: pinnedTo(addresses),
    // No kept connection and no proxy, either of which would lead past the pinned addresses.
    agent: false,
    // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
  }
}

export function pinnedTo(addresses: readonly string[]): LookupFunction {
  const pinned = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, { all }, answer) =>
    // Later, as a real lookup would: a connection that fails at once would do so before anybody listens for its
    // error, and that ends the process.
    process.nextTick(() =>
      all ? answer(null, pinned) : answer(null, pinned[0]?.address ?? '', pinned[0]?.family),
    )
}

export function headersToSend({ host }: URL, asked: Record<string, string>): Record<string, string> {
  const headers = new Headers(asked)
  // Node also takes the name that the certificate must carry from here.
  headers.set('host', host)
  // Nothing is decompressed, so that the limit counts what a reader gets.
  headers.set('accept-encoding', 'identity')
  return Object.fromEntries(headers)
}

export function beforeDeadline<T>(asked: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new FetchRefused('deadline'))
    if (signal.aborted) return late()
    signal.addEventListener('abort', late, { once: true })
    asked.then(resolve, reject).finally(() => signal.removeEventListener('abort', late))
  })
}

/** Node's own word for it; messages may quote what the other side said. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^\w{1,60}$/.test(code) ? code : 'unknown'
}
