/** POST to an address that a user may steer: tells an answer from what provably never left, and both from the unknown. */
import { lookup } from 'node:dns/promises'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { BlockList, isIP } from 'node:net'
import type { NotReachedReason } from '../../contracts/deliveries.ts'
import { RESPONSE_EXCERPT } from '../../contracts/limits.ts'
import { connectionReason } from './connection-reason.ts'
import {
  allowedAddresses,
  askDns,
  beforeDeadline,
  FetchRefused,
  headersToSend,
  readUrl,
  type Resolve,
} from './guard.ts'
import { keptConnections } from './kept-connections.ts'
import { isPublicAddress } from './public-address.ts'

export type Posted =
  | {
      readonly kind: 'answered'
      readonly status: number
      /** What the other side asks us to wait. */
      readonly retryAfterSeconds: number | undefined
      /** At most 64 KiB of it, for telling one refusal from another; undefined where it broke off. */
      readonly text: string | undefined
      /** How it begins, for people to read; none from an address that only the operator's networks allow. */
      readonly response?: string | undefined
      /** There was something to read, and nobody may. */
      readonly responseWithheld?: true | undefined
      /** Of the header that was asked for. */
      readonly header?: string | undefined
    }
  /** Not one byte of the message left: it may be sent again. */
  | { readonly kind: 'not_sent'; readonly because: 'address' | NotReachedReason }
  /** The connection stood and then something broke: the message may have arrived. */
  | {
      readonly kind: 'unknown'
      /** The connection was kept from an earlier message, and the receiver ended it under this one. */
      readonly brokeKeptSocket?: true
    }

export type Message = {
  readonly method?: 'POST' | 'GET'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** None for whoever sends a key along: another host must not get it. */
  readonly redirects?: number
  /** Whose connections may be used again, and by nobody else; without it the message has its own. */
  readonly keptFor?: string | null
  /** Of the answer, where more than 64 KiB of it is needed. */
  readonly maxBytes?: number
  /** A header of the answer that says something, too. */
  readonly readsHeader?: string
  /** Whose message it is: some of the operator's networks are one organization's alone. */
  readonly orgId?: string | undefined
}

export type GuardedPost = (message: Message) => Promise<Posted>

type Options = {
  /** Networks of the operator's own that may be reached although they are private, by http as well. */
  readonly allowNets?: readonly string[]
  /** The same, of one organization. Where a network is given to it alone, it may read what is answered there. */
  readonly organizationNets?: ReadonlyMap<string, readonly string[]>
  readonly now?: () => number
  /** For tests, which serve on loopback under names of their own and cannot wait for long. */
  readonly resolve?: Resolve
  readonly isPublic?: (address: string) => boolean
  readonly ca?: string
  readonly deadlineMs?: number
  readonly connectMs?: number
}

const DEADLINE_MS = 10_000
const CONNECT_MS = 5_000
const ANSWER_MAX_BYTES = 64 * 1024
const ADDRESS_MAX = 2_048
/** contract: "a few". */
const REDIRECTS = 3
/** A day: whoever asks for longer is asked again by then. */
const RETRY_AFTER_MAX_SECONDS = 86_400

/**
 * The bad ports of the Fetch standard: a message posted to a mail or a printer's port is a command there. Those above
 * 1024 as well, because they are not ours to choose.
 */
export const BAD_PORTS: ReadonlySet<string> = new Set(
  (
    '1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137 ' +
    '139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 ' +
    '1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080'
  ).split(' '),
)

export type Outbound = {
  readonly post: GuardedPost
  /** Whether a message may be sent there now: how it is written, and where its name leads. */
  readonly isAllowed: (url: string, orgId?: string) => Promise<boolean>
  /** Ends the connections that are kept. */
  close(): void
}

export function outbound(options: Options = {}): Outbound {
  const { resolve = askDns, isPublic = isPublicAddress, ca, now = Date.now } = options
  const { deadlineMs = DEADLINE_MS, connectMs = CONNECT_MS } = options
  const isOfAll = within(options.allowNets ?? [])
  const ofOrganizations = new Map(
    [...(options.organizationNets ?? [])].map(([orgId, nets]) => [orgId, within(nets)] as const),
  )
  const isOf = (orgId: string | undefined, ip: string) =>
    (orgId !== undefined && ofOrganizations.get(orgId)?.(ip)) === true
  const mayBeShown = (orgId: string | undefined, ip: string) =>
    isPublic(ip) ||
    (isOf(orgId, ip) &&
      !isOfAll(ip) &&
      [...ofOrganizations].every(([other, has]) => other === orgId || !has(ip)))
  const connections = keptConnections({ ca })

  async function addressesOf(
    url: URL,
    orgId: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    if (BAD_PORTS.has(url.port)) throw new FetchRefused('port')
    // In the clear only within what the operator called their own.
    const isOurs = (ip: string) => isOfAll(ip) || isOf(orgId, ip)
    const allow = url.protocol === 'http:' ? isOurs : (ip: string) => isPublic(ip) || isOurs(ip)
    return beforeDeadline(allowedAddresses(url, { resolve, allow }, signal), signal)
  }

  async function post(message: Message): Promise<Posted> {
    // One deadline over all hops. Its own timer, cleared at the end: AbortSignal.timeout keeps each for ten seconds.
    const deadline = new AbortController()
    const timer = setTimeout(() => deadline.abort(), deadlineMs)
    try {
      return await postOn(message, read(message.url), message.redirects ?? REDIRECTS, deadline.signal)
    } catch (error) {
      if (!(error instanceof FetchRefused)) throw error
      return { kind: 'not_sent', because: REFUSALS[error.reason] ?? 'address' }
    } finally {
      clearTimeout(timer)
    }
  }

  async function postOn(message: Message, url: URL, redirects: number, signal: AbortSignal): Promise<Posted> {
    const got = await send(message, url, signal)
    if (got.kind !== 'answered') return got
    const elsewhere = redirects > 0 ? redirectOf(url, got) : undefined
    // Redirected is not delivered: what fails from here on was never taken by anybody.
    if (elsewhere) return postOn(message, elsewhere, redirects - 1, signal)
    return {
      kind: 'answered',
      status: got.status,
      retryAfterSeconds: retryAfter(got.headers['retry-after'], now()),
      text: got.text,
      response: got.response,
      ...(got.responseWithheld && { responseWithheld: true }),
      ...(message.readsHeader !== undefined && { header: got.headers[message.readsHeader]?.toString() }),
    }
  }

  async function send(message: Message, url: URL, signal: AbortSignal): Promise<Answer | NoAnswer> {
    let addresses: readonly string[]
    try {
      addresses = await addressesOf(url, message.orgId, signal)
    } catch (error) {
      if (error instanceof FetchRefused) throw error
      throw new FetchRefused('the name cannot be resolved')
    }
    const { keptFor } = message
    const key = keptFor ? { owner: keptFor, origin: url.origin } : undefined
    const body = message.body === undefined ? undefined : Buffer.from(message.body)
    const headers = {
      ...headersToSend(url, message.headers),
      connection: key === undefined ? 'close' : 'keep-alive',
      ...(body && { 'content-length': String(body.length) }),
    }
    const kept = key === undefined ? undefined : await connections.take(key, addresses)
    if (signal.aborted) {
      kept?.destroy()
      throw new FetchRefused('deadline')
    }
    const socket = kept ?? connections.dial(url, addresses, key)
    return new Promise((settle) => {
      let connected = kept !== undefined
      let answered = false
      const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
        method: message.method ?? 'POST',
        headers,
        signal,
        // No agent and no proxy, either of which would lead past the addresses that were checked.
        createConnection: () => socket,
      })
      let impatient = false
      const impatience = setTimeout(() => {
        impatient = !connected
        if (impatient) request.destroy()
      }, connectMs)
      const end = (answer: Answer | NoAnswer) => {
        clearTimeout(impatience)
        settle(answer)
      }
      // Before the handshake is over nothing of the message is on the wire; from then on it may be.
      if (!kept)
        socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => (connected = true))
      request.on('response', (response) => {
        answered = true
        // Said by Node when both sides allow it and the whole answer was read.
        if (key !== undefined) {
          socket.once('free', () => connections.keep(key, socket, response.headers['keep-alive']?.toString()))
        }
        void receive(
          response,
          addresses.every((ip) => mayBeShown(message.orgId, ip)),
          message.maxBytes,
        ).then(end)
      })
      const broken = (error?: Error) => {
        // The status line said it all.
        if (answered) return
        // What we ended ourselves took too long.
        if (!connected) {
          const isLate = impatient || signal.aborted
          return end({ kind: 'not_sent', because: isLate ? 'timed_out' : connectionReason(error) })
        }
        // Ours is the fault if it only took too long.
        end({ kind: 'unknown', ...(kept && !signal.aborted && { brokeKeptSocket: true }) })
      }
      // An answer that switches protocols closes without an error.
      request.on('error', broken).on('close', () => broken())
      request.end(body)
    })
  }

  return {
    post,
    close: () => connections.close(),
    async isAllowed(address, orgId) {
      const signal = AbortSignal.timeout(connectMs)
      try {
        await addressesOf(read(address), orgId, signal)
        return true
      } catch {
        return false
      }
    },
  }
}

/** To an address that the operator set and no user can steer: anywhere, with the same three outcomes. */
export const toOperatorAddress = (): GuardedPost =>
  outbound({
    allowNets: ['0.0.0.0/0', '::/0'],
    // As the machine itself resolves names: such a service may stand in a hosts file.
    resolve: async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address),
  }).post

function read(address: string): URL {
  if (address.length > ADDRESS_MAX) throw new FetchRefused('too long')
  return readUrl(address, { http: true })
}

type NoAnswer = Exclude<Posted, { kind: 'answered' }>

type Answer = {
  readonly kind: 'answered'
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string | undefined
  readonly response: string | undefined
  readonly responseWithheld: boolean
}

/** The status line settles it; the rest is read as far as it comes, and to the limit. */
async function receive(
  answer: IncomingMessage,
  mayBeShown: boolean,
  maxBytes = ANSWER_MAX_BYTES,
): Promise<Answer> {
  const { statusCode: status = 0, headers } = answer
  const { body, isWhole } = await bodyOf(answer, maxBytes)
  return {
    kind: 'answered',
    status,
    headers,
    text: isWhole ? body.toString('utf8') : undefined,
    // Bytes that are no text, and a character that was cut, are replaced.
    response: mayBeShown ? body.subarray(0, RESPONSE_EXCERPT.readBytes).toString('utf8') : undefined,
    responseWithheld: !mayBeShown && body.length > 0,
  }
}

/** By events: an iterator would cost a tenth of the whole message. */
function bodyOf(
  answer: IncomingMessage,
  maxBytes: number,
): Promise<{ readonly body: Buffer; readonly isWhole: boolean }> {
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    const end = (isWhole: boolean) => resolve({ body: Buffer.concat(chunks), isWhole })
    answer.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length
      if (chunks.length === 0 || bytes <= maxBytes) chunks.push(chunk)
      if (bytes > maxBytes) answer.destroy()
    })
    answer.on('end', () => end(bytes <= maxBytes))
    // Broken off, by them or by us.
    answer.on('error', () => end(false)).on('close', () => end(false))
  })
}

/**
 * 301 and 302 are followed with the same method and body: a GET, as browsers send it, would not deliver the message. 303
 * demands a GET, so it is not followed and counts as the response. Undefined: not followed.
 */
function redirectOf(from: URL, { status, headers }: Answer): URL | undefined {
  if (![301, 302, 307, 308].includes(status) || headers.location === undefined) return undefined
  const to = URL.parse(headers.location, from)
  if (!to) return undefined
  // Written out again, so that it is judged like one that was typed in.
  const url = read(to.href)
  if (from.protocol === 'https:' && url.protocol !== 'https:') throw new FetchRefused('downgrade')
  return url
}

/** RFC 9110, 10.2.3: seconds, or a date, which begins with the day of the week. */
function retryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined
  const isDate = /^[A-Z][a-z]{2,8},? /.test(header)
  const seconds = isDate ? (Date.parse(header) - nowMs) / 1000 : /^\d{1,9}$/.test(header) ? Number(header) : 0
  return Number.isFinite(seconds) && seconds > 0
    ? Math.min(Math.ceil(seconds), RETRY_AFTER_MAX_SECONDS)
    : undefined
}

/** All other refusals are about the address. */
const REFUSALS: Readonly<Record<string, NotReachedReason>> = {
  deadline: 'timed_out',
  'the name cannot be resolved': 'name_not_found',
  'the name has no address': 'name_not_found',
}

export function within(nets: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const net of nets) {
    const [ip = '', bits] = net.split('/')
    const family = isIP(ip) === 6 ? 'ipv6' : 'ipv4'
    list.addSubnet(ip, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family)
  }
  // A list reads mapped addresses by its IPv4 rules, as the kernel does.
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
