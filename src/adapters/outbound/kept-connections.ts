/**
 * Connections that are kept for the next message of the same owner. Names are resolved and checked before every message
 * all the same; a kept connection is used only if it leads to an address that was checked just now. Whatever makes it
 * doubtful that the other side still listens ends it, because a message on it would be neither sent nor not sent.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { connect as connectTls, createSecureContext, TLSSocket, type SecureContext } from 'node:tls'
import { pinnedTo } from './guard.ts'

/** Idle for longer it is ended, where the receiver does not say how long it listens. */
const IDLE_MS = 2_000
/** And where it does. */
const ANNOUNCED_IDLE_MS = 15_000
/** Before the end that a receiver announces: a message and its own clock take their time. */
const MARGIN_MS = 1_000
/** Of all owners together: the oldest gives way. */
const IDLE_MAX = 1_000
/** Then the certificate is verified anew. */
const SESSION_MS = 5 * 60_000
/**
 * A message that is on its way when the receiver closes is lost, and we cannot see it coming. So where a receiver was seen
 * to close an idle connection, none is used again that was idle for half as long.
 */
const SEEN_CLOSING_MS = 60 * 60_000

/** Whose connection it is, and where it leads. */
export type ConnectionKey = { readonly owner: string; readonly origin: string }

export type KeptConnections = {
  /** An idle one that leads to one of these addresses, seen alive a moment ago; it belongs to the caller then. */
  take(key: ConnectionKey, addresses: readonly string[]): Promise<Socket | undefined>
  /** A new one, to these addresses and no others. With a key its TLS session is remembered for the next. */
  dial(url: URL, addresses: readonly string[], key: ConnectionKey | undefined): Socket
  /** After an answer that was read to its end. `keepAlive` is the receiver's own header. */
  keep(key: ConnectionKey, socket: Socket, keepAlive: string | undefined): void
  close(): void
}

type Timers = {
  readonly now: () => number
  readonly start: (act: () => void, ms: number) => NodeJS.Timeout
}

type Options = {
  readonly ca?: string | undefined
  /** For tests, as the timers. */
  readonly idleMax?: number
  readonly timers?: Timers
}

const TIMERS: Timers = { now: () => performance.now(), start: setTimeout }

export function keptConnections({ ca, idleMax = IDLE_MAX, timers = TIMERS }: Options = {}): KeptConnections {
  const idle = new Map<string, IdleConnection[]>()
  const sessions = createMemory<Buffer>(SESSION_MS, timers.now)
  const closingMs = createMemory<number>(SEEN_CLOSING_MS, timers.now)
  /** All of them, the oldest first. */
  const byAge = new Set<IdleConnection>()
  // One for all connections: making it takes as long as a good part of a handshake.
  let context: SecureContext | undefined
  const secureContext = () => (context ??= createSecureContext(ca === undefined ? {} : { ca }))

  const maxIdleMs = ({ origin }: ConnectionKey): number =>
    Math.min(ANNOUNCED_IDLE_MS, (closingMs.get(origin) ?? Number.POSITIVE_INFINITY) / 2)
  const seenClosing = ({ origin }: ConnectionKey, ms: number): void =>
    closingMs.set(origin, Math.min(ms, closingMs.get(origin) ?? ms))

  function forget(key: ConnectionKey, one: IdleConnection): void {
    if (!byAge.delete(one)) return
    const list = idle.get(nameOf(key))!.filter((other) => other !== one)
    if (list.length === 0) idle.delete(nameOf(key))
    else idle.set(nameOf(key), list)
  }

  return {
    async take(key, addresses) {
      const allowed = new Set(addresses.map(canonical))
      for (;;) {
        const one = idle.get(nameOf(key))?.at(-1)
        if (!one) return undefined
        forget(key, one)
        const isAllowed = allowed.has(canonical(one.socket.remoteAddress ?? ''))
        // Two, because the first may end the turn that is under way: in between everything that has arrived is read, and
        // with it a close that was on its way already.
        if (isAllowed) for (const _ of [1, 2]) await turn()
        if (isAllowed && one.isAlive() && one.idleMs() < Math.min(one.maxMs, maxIdleMs(key)))
          return one.release()
        one.end()
      }
    },
    dial(url, addresses, key) {
      const isSecure = url.protocol === 'https:'
      const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
      const port = Number(url.port || (isSecure ? 443 : 80))
      const to = { host, port, lookup: pinnedTo(addresses), noDelay: true }
      // An error is also heard where nobody waits for one: it would end the process.
      if (!isSecure) return connectTcp(to).on('error', () => {})
      const session = key && sessions.get(nameOf(key))
      const socket = connectTls({
        ...to,
        servername: isIP(host) ? '' : host,
        ALPNProtocols: ['http/1.1'],
        // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
        rejectUnauthorized: true,
        secureContext: secureContext(),
        ...(session && { session }),
      })
      if (key) {
        socket.on('session', (next) => {
          // With the next ticket of a resumed session it would be resumed for ever, and its certificate verified once.
          if (socket.authorized && !socket.isSessionReused()) sessions.set(nameOf(key), next)
        })
      }
      return socket.on('error', () => {})
    },
    keep(key, socket, keepAlive) {
      const ms = Math.min(maxIdleMs(key), announcedMs(keepAlive) ?? IDLE_MS)
      if (ms <= 0 || !isOpen(socket)) return void socket.destroy()
      if (byAge.size >= idleMax) byAge.values().next().value!.end()
      const one = watchIdle(socket, ms, timers, {
        onEnd: () => forget(key, one),
        onClosedByReceiver: (idleMs) => seenClosing(key, idleMs),
      })
      idle.set(nameOf(key), [...(idle.get(nameOf(key)) ?? []), one])
      byAge.add(one)
    },
    close() {
      for (const one of byAge) one.end()
    },
  }
}

const nameOf = ({ owner, origin }: ConnectionKey): string => `${owner} ${origin}`

const isOpen = (socket: Socket): boolean =>
  !socket.destroyed &&
  socket.readable &&
  socket.writable &&
  !(socket instanceof TLSSocket && !socket.authorized)

type IdleConnection = {
  readonly socket: Socket
  readonly maxMs: number
  idleMs(): number
  isAlive(): boolean
  end(): void
  /** Watched no longer. */
  release(): Socket
}

const UNEXPECTED = ['data', 'end', 'close', 'error'] as const

/** Nothing may come while nobody has asked: any byte, an end or an error is the connection's end. */
function watchIdle(
  socket: Socket,
  ms: number,
  { now, start }: Timers,
  { onEnd, onClosedByReceiver }: { onEnd: () => void; onClosedByReceiver: (idleMs: number) => void },
): IdleConnection {
  const since = now()
  const idleMs = () => now() - since
  let isAlive = true
  const release = () => {
    clearTimeout(timer)
    for (const event of UNEXPECTED) socket.off(event, closedByReceiver)
    return socket.ref()
  }
  const end = () => {
    isAlive = false
    release()
    onEnd()
    socket.destroy()
  }
  const closedByReceiver = () => {
    onClosedByReceiver(idleMs())
    end()
  }
  const timer = start(end, ms).unref()
  for (const event of UNEXPECTED) socket.on(event, closedByReceiver)
  socket.resume().unref()
  return { socket, maxMs: ms, idleMs, isAlive: () => isAlive && isOpen(socket), end, release }
}

/** How long the receiver says that it listens, less the margin, in milliseconds. */
function announcedMs(keepAlive: string | undefined): number | undefined {
  const seconds = /(?:^|[\s,;])timeout\s*=\s*"?(\d{1,9})/i.exec(keepAlive ?? '')?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000 - MARGIN_MS
}

/** One spelling for one address. */
const canonical = (address: string): string =>
  isIP(address) === 6 ? (URL.parse(`http://[${address}]`)?.hostname ?? address) : address

const REMEMBERED_MAX = 1_000

/** Of what was learned last, and not for longer than it may be believed. Forgetting it costs time and nothing else. */
function createMemory<T>(ms: number, now: () => number) {
  const entries = new Map<string, { readonly value: T; readonly until: number }>()
  return {
    get(key: string): T | undefined {
      const entry = entries.get(key)
      return entry && entry.until > now() ? entry.value : undefined
    },
    set(key: string, value: T): void {
      entries.delete(key)
      entries.set(key, { value, until: now() + ms })
      if (entries.size > REMEMBERED_MAX) entries.delete(entries.keys().next().value!)
    },
  }
}
