/**
 * The request of an http check, to an address that a user steers: public ones, and those of the networks that the operator
 * gave the organization. No redirect is followed: it would take the headers to a host that nobody named.
 */
import { Resolver } from 'node:dns/promises'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type Socket } from 'node:net'
import type { HttpProbe, Probed } from '../../cores/checks/http-probe-port.ts'
import {
  allowedAddresses,
  beforeDeadline,
  codeOf,
  FetchRefused,
  headersToSend,
  readUrl,
  type Resolve,
} from './guard.ts'
import { BAD_PORTS, within } from './guarded-post.ts'
import { keptConnections } from './kept-connections.ts'
import { isPublicAddress } from './public-address.ts'

type Options = {
  /** Networks that checks of an organization may reach although they are private. */
  readonly allowNets?: ReadonlyMap<string, readonly string[]>
  readonly userAgent: string
  /** For tests, which serve on loopback under names of their own. */
  readonly resolve?: Resolve
  readonly isPublic?: (address: string) => boolean
  readonly ca?: string
}

/** What conditions look at; a page that is longer is no health check. */
const BODY_MAX_BYTES = 256 * 1024
/** Read and thrown away, so that the connection can be used again. */
const UNREAD_MAX_BYTES = 16 * 1024

/** Where the machine's own cloud hands out its credentials: of no organization, whatever a setting says. */
const isMetadata = within([
  '169.254.0.0/16',
  'fe80::/10',
  'fd00:ec2::254',
  'fd20:ce::254',
  '168.63.129.16',
  '100.100.100.200',
])

type Asked = Parameters<HttpProbe>[0]
type Failed = Extract<Probed, { kind: 'failed' }>
/** `again`: the connection was kept from an earlier check, and had ended by then. */
type Sent =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string | null }
  | { readonly kind: 'failed'; readonly reason: Failed['reason'] }
  | { readonly kind: 'again' }

export type HttpProbes = { readonly probe: HttpProbe; close(): void }

export function httpProbes({
  allowNets = new Map(),
  userAgent,
  resolve = askDnsOrThrow,
  isPublic = isPublicAddress,
  ca,
}: Options): HttpProbes {
  const networks = new Map([...allowNets].map(([orgId, nets]) => [orgId, within(nets)]))
  const connections = keptConnections({ ca })

  async function addressesOf(url: URL, orgId: string, signal: AbortSignal): Promise<readonly string[]> {
    if (BAD_PORTS.has(url.port)) throw new FetchRefused('port')
    const isOurs = networks.get(orgId)
    const allow = (ip: string) => isPublic(ip) || (isOurs?.(ip) === true && !isMetadata(ip))
    return beforeDeadline(allowedAddresses(url, { resolve, allow }, signal), signal)
  }

  function send(
    { method, headers, body, readsBody }: Asked,
    url: URL,
    socket: Socket,
    { isKept, keep }: { isKept: boolean; keep: ((keepAlive: string | undefined) => void) | undefined },
    signal: AbortSignal,
  ): Promise<Sent> {
    const bytes = body === undefined ? undefined : Buffer.from(body)
    return new Promise((settle) => {
      let isAnswered = false
      const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
        method,
        headers: {
          'user-agent': userAgent,
          accept: '*/*',
          ...headersToSend(url, headers),
          connection: keep ? 'keep-alive' : 'close',
          ...(bytes && { 'content-length': String(bytes.length) }),
        },
        signal,
        // No agent and no proxy, either of which would lead past the addresses that were checked.
        createConnection: () => socket,
      })
      request.on('response', (response) => {
        isAnswered = true
        const { statusCode: status = 0 } = response
        if (keep) socket.once('free', () => keep(response.headers['keep-alive']?.toString()))
        if (readsBody) void readBody(response).then((answer) => settle(toAnswer(status, answer, signal)))
        else {
          discard(response)
          settle({ kind: 'answered', status, body: '' })
        }
      })
      const broken = (error?: unknown) => {
        if (isAnswered) return
        if (signal.aborted) return settle({ kind: 'failed', reason: 'timed_out' })
        settle(isKept ? { kind: 'again' } : { kind: 'failed', reason: reasonOf(error) })
      }
      // An answer that switches protocols closes without an error.
      request.on('error', broken).on('close', () => broken())
      request.end(bytes)
    })
  }

  async function probeOnce(
    asked: Asked,
    url: URL,
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<Sent> {
    // What was posted on a connection that breaks may have been done: it gets one of its own.
    const key = asked.method === 'POST' ? undefined : { owner: asked.orgId, origin: url.origin }
    const kept = key && (await connections.take(key, addresses))
    const socket = kept ?? connections.dial(url, addresses, key)
    const keep = key && ((keepAlive: string | undefined) => connections.keep(key, socket, keepAlive))
    const sent = await send(asked, url, socket, { isKept: kept !== undefined, keep }, signal)
    return sent.kind === 'again' ? probeOnce(asked, url, addresses, signal) : sent
  }

  async function probe(asked: Asked): Promise<Probed> {
    const started = performance.now()
    const deadline = new AbortController()
    const timer = setTimeout(() => deadline.abort(), asked.timeoutMs)
    const { signal } = deadline
    const timeMs = () => performance.now() - started
    try {
      const url = readUrl(asked.url, { http: true })
      const addresses = await addressesOf(url, asked.orgId, signal)
      const isPrivate = !addresses.every(isPublic)
      const sent = await probeOnce(asked, url, addresses, signal)
      if (sent.kind === 'again') throw new Error('a connection was tried again for ever')
      return { ...sent, timeMs: timeMs(), isPrivate }
    } catch (error) {
      if (!(error instanceof FetchRefused)) throw error
      return refusalOf(error, asked.url)
    } finally {
      clearTimeout(timer)
    }
  }

  return { probe, close: () => connections.close() }
}

/**
 * A name that leads inside is told like one that leads nowhere, with the same result and without a time: who may make checks
 * could otherwise ask our name server which names there are. What an address as such is, everybody knows.
 */
function refusalOf({ reason }: FetchRefused, url: string): Probed {
  if (reason === 'deadline' || reason === DNS_FAILED) return { kind: 'refused', reason: 'dns_failed' }
  const isByName = reason === 'the name has no address' || reason === 'address not public'
  return { kind: 'refused', reason: isByName && !isLiteral(url) ? 'no_address' : 'address_refused' }
}

const isLiteral = (url: string): boolean => isIP(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')) !== 0

/** `text` is null where there was more than is read. */
type Body = { readonly text: string | null }

const toAnswer = (status: number, body: Body | 'broken', signal: AbortSignal): Sent =>
  body === 'broken'
    ? { kind: 'failed', reason: signal.aborted ? 'timed_out' : 'connection_failed' }
    : { kind: 'answered', status, body: body.text }

/** By events: an iterator would cost a tenth of the whole request. */
function readBody(response: IncomingMessage): Promise<Body | 'broken'> {
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    response.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length
      if (bytes <= BODY_MAX_BYTES) return void chunks.push(chunk)
      resolve({ text: null })
      response.destroy()
    })
    response.on('end', () => resolve({ text: Buffer.concat(chunks).toString('utf8') }))
    response.on('error', () => resolve('broken')).on('close', () => resolve('broken'))
  })
}

function discard(response: IncomingMessage): void {
  let bytes = 0
  const timer = setTimeout(() => response.destroy(), 1_000).unref()
  response.on('data', (chunk: Uint8Array) => {
    bytes += chunk.length
    if (bytes > UNREAD_MAX_BYTES) response.destroy()
  })
  response.on('error', () => {}).on('close', () => clearTimeout(timer))
}

const reasonOf = (error: unknown): 'tls_failed' | 'connection_failed' =>
  /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|EPROTO$|HOSTNAME_MISMATCH)/.test(codeOf(error))
    ? 'tls_failed'
    : 'connection_failed'

const DNS_FAILED = 'the name server did not answer'
/** Of c-ares: it answered, and there is no such name or no address of this family. */
const NO_ADDRESS = new Set(['ENOTFOUND', 'ENODATA'])

/** Tells a name that has no address, which is the app's fault, from a name server that does not answer, which is ours. */
async function askDnsOrThrow(hostname: string, signal: AbortSignal): Promise<readonly string[]> {
  // RFC 6761, 6.3: never asked of a name server.
  if (/(^|\.)localhost\.?$/.test(hostname)) return ['127.0.0.1']
  const resolver = new Resolver({ timeout: 1_000, tries: 3 })
  signal.addEventListener('abort', () => resolver.cancel(), { once: true })
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  const isBroken = answers.some(
    (answer) => answer.status === 'rejected' && !NO_ADDRESS.has(codeOf(answer.reason)),
  )
  if (addresses.length === 0 && isBroken) throw new FetchRefused(DNS_FAILED)
  return addresses.filter((address) => isIP(address) !== 0)
}
