/**
 * The driver (postgres.js 3.4.9) with sockets of ours, because it loses connections for good that break under load. Between
 * the error of a socket and its close it still sends queries on it, and at a close after an error it takes all of them for
 * answered: they wait for ever, or are answered with nothing by the next session, and the connection is never used again.
 * A close that tells of no error makes it reject them. And where a session broke amid its rows, the driver goes on counting
 * them in the next one: the first answer there begins with as many holes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import postgres from 'postgres'
import {
  createGate,
  DatabaseAway,
  isLoss,
  isReadOnly,
  mayChange,
  OutcomeUnknown,
  type DriverQuery,
  type Gate,
} from './database-away.ts'
import { countChange, currentCall, isLate, lateError, whenLate } from './current-call.ts'
import { watchSilence } from './watch-silence.ts'
import { openSocket, tlsModeOf } from './managed/open-socket.ts'

type Settings = {
  readonly connect_timeout: number
  /** A standby is as good as any other server. */
  readonly takesStandby?: boolean
  readonly [option: string]: unknown
}

/**
 * The driver's own waits grow to 20 s, for every connection of the pool: after a restart of the server of a few seconds
 * questions and `/readyz` would still wait that long. By chance, so that not all come back in the same moment.
 */
const RETRY_SECONDS = { first: 0.01, most: 1 }
const secondsUntilRetry = (failures: number): number =>
  (0.5 + Math.random() / 2) * Math.min(RETRY_SECONDS.first * 2 ** failures, RETRY_SECONDS.most)

/** Where it was reached before: no longer than anybody waits for it. */
const AGAIN_CONNECT_MS = 2_000
/** Of a connection that only asks whether the server answers. */
const ASK_SECONDS = 2

type SessionWatch = Pick<Extract<Watched, { ask: unknown }>, 'gate' | 'onSession'>

/** A pool that tells everybody soon, and honestly, when its database is away. */
export function openPool(
  url: string,
  settings: Settings,
  { gate = createGate(), onSession = async () => {} }: Partial<SessionWatch> = {},
): { client: postgres.Sql; gate: Gate } {
  const client = openDriver(url, settings, {
    gate,
    onSession,
    async ask() {
      const answered = Promise.withResolvers<void>()
      const client = openDriver(
        url,
        { ...settings, max: 1, connect_timeout: ASK_SECONDS },
        { onData: () => answered.resolve() },
      )
      const late = sleep(ASK_SECONDS * 1000, undefined, { ref: false }).then(() => {
        throw new Error('no answer')
      })
      try {
        // Whatever it says, if only that it takes no more connections: it is there.
        await Promise.race([answered.promise, client.unsafe('select 1').then(() => {}), late])
      } finally {
        await client.end({ timeout: 0 })
      }
    },
  })
  return { client, gate }
}

type Watched =
  | {
      readonly gate: Gate
      readonly ask: () => Promise<unknown>
      /** Before anything is asked of a new session: the server may be another one than before. */
      readonly onSession: () => Promise<void>
    }
  | { readonly onData: () => void }

/** Whatever went wrong, as with a server that is only just taking over: nothing was sent, and the next session tries again. */
function refuseSession(cause: unknown): never {
  if (isLoss(cause)) throw cause
  throw Object.assign(new Error('The server could not be looked at', { cause }), { code: 'NOT_LOOKED_AT' })
}

export function openDriver(url: string, settings: Settings, watched?: Watched): postgres.Sql {
  const gate = watched && 'gate' in watched ? watched.gate : undefined
  const onData = watched && 'onData' in watched ? watched.onData : () => gate?.found()
  const { searchParams, hostname, port } = new URL(url)
  // Its own way to a Unix socket, with the losses above.
  const opensItself = hostname === '' || searchParams.has('host') || searchParams.has('sslnegotiation')
  const address = {
    host: decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || 5432,
    ssl: tlsModeOf(searchParams),
  }
  const sockets = new Set<Socket>()
  let [failures, hasEnded, hasConnected, waiting] = [0, false, false, 0]
  const silence =
    watched && 'ask' in watched
      ? watchSilence({ sockets, isWaiting: () => waiting > 0, ask: watched.ask })
      : undefined

  async function socket(): Promise<Duplex> {
    try {
      const opened = await openSocket(
        address,
        gate && hasConnected ? AGAIN_CONNECT_MS : settings.connect_timeout * 1000,
      )
      opened.on('error', ignore)
      if (watched && 'onSession' in watched) await watched.onSession().catch(refuseSession)
      opened.off('error', ignore)
      failures = 0
      hasConnected = true
      if (!hasEnded && opened.destroyed) throw Object.assign(new Error('It hung up'), { code: 'ECONNRESET' })
      if (!hasEnded) {
        sockets.add(opened)
        silence?.watch()
        opened.once('close', () => sockets.delete(opened))
        return closingWithoutError(opened, {
          onData,
          refusesStandby: gate !== undefined && !settings.takesStandby,
        })
      }
      // The driver would use it, and the process would not end.
      opened.destroy()
      return failing(new Error('The pool was closed'))
    } catch (error) {
      failures += 1
      gate?.lost(error)
      return failing(error as Error)
    }
  }
  const ours = {
    socket,
    ssl: false,
    // The driver counts by what closes tell it.
    backoff: () => secondsUntilRetry(failures),
  }
  // The driver's types leave out `socket`, `max_pipeline` and a `backoff` that is a function.
  const { takesStandby: _, ...known } = settings
  const options = {
    backoff: secondsUntilRetry,
    ...known,
    ...(opensItself ? {} : ours),
  } as postgres.Options<Record<string, never>>
  const client = postgres(url, options)

  /** A server that takes no writes: none of its connections is of use, though they work. */
  function leaveStandby(error: unknown): boolean {
    if (!isReadOnly(error) || settings.takesStandby) return false
    gate!.lost(error)
    for (const opened of sockets) opened.destroy()
    return true
  }

  /** What becomes of it says whether the database is there; and a loss says whether it may be done. */
  function sayHonestly(query: DriverQuery): void {
    const { resolve, reject, handler } = query
    let isCounted = false
    let settled = () => {}
    const uncount = () => {
      if (isCounted) waiting -= 1
      isCounted = false
      settled()
    }
    const counted = () => {
      isCounted = true
      waiting += 1
      handler(query)
    }
    query.handler = Object.assign(counted, { debug: handler.debug })
    query.resolve = (value) => {
      uncount()
      gate!.found()
      resolve(value)
    }
    query.reject = (error) => {
      uncount()
      if (!isLoss(error)) return reject(error)
      gate!.lost(error)
      const isRefused = leaveStandby(error)
      const mayBeDone = !isRefused && query.state !== null && mayChange(query.strings[0]!)
      reject(mayBeDone ? new OutcomeUnknown(error) : new DatabaseAway(error))
    }
    const guarded = gate!.guard(query)
    settled = guarded.settled
    if ('onexecute' in query.options) forCall(query, guarded.refuse)
  }

  /** What changes something, or begins to, is not done when nobody waits for it any more, and is remembered as done. */
  function forCall(query: DriverQuery, refuse: (error: Error) => void): void {
    const call = currentCall()
    if (!call) return
    const { resolve, reject, handler } = query
    const isChange = mayChange(query.strings[0]!)
    let [forget, isStarted] = [() => {}, false]
    const started = () => {
      if (isLate(call)) return query.reject(lateError())
      isStarted = true
      forget = whenLate(call, refuse)
      if (isChange) countChange(call, 1)
      handler(query)
    }
    query.handler = Object.assign(started, { debug: handler.debug })
    query.resolve = (value) => {
      forget()
      resolve(value)
    }
    query.reject = (error) => {
      const mayBeDone = query.state !== null && isLoss(error) && !isReadOnly(error)
      if (isChange && isStarted && !mayBeDone) countChange(call, -1)
      forget()
      reject(error)
    }
  }

  const unsafe = client.unsafe.bind(client)
  const begin = client.begin.bind(client) as (...args: unknown[]) => Promise<unknown>
  const end = client.end.bind(client)
  return Object.assign(client, {
    async begin(...args: unknown[]): Promise<unknown> {
      waiting += 1
      try {
        return await begin(...args)
      } catch (error) {
        if (gate) leaveStandby(error)
        throw error
      } finally {
        waiting -= 1
      }
    },
    unsafe(...args: Parameters<typeof unsafe>) {
      const query = unsafe(...args)
      const own = query as unknown as DriverQuery
      withoutHoles(own)
      if (gate) {
        sayHonestly(own)
      }
      return query
    },
    async end(how?: { timeout?: number }): Promise<void> {
      await end(how)
      hasEnded = true
      gate?.close()
      // The driver waits for the server to close them; one that is frozen never does, and the process would not end.
      for (const opened of sockets) opened.destroy()
    },
  })
}

function withoutHoles(query: DriverQuery): void {
  const { resolve } = query
  query.resolve = (value) => {
    if (Array.isArray(value)) {
      let holes = 0
      while (holes < value.length && !(holes in value)) holes++
      if (holes > 0) value.splice(0, holes)
    }
    resolve(value)
  }
}

type Watching = { readonly onData?: (() => void) | undefined; readonly refusesStandby: boolean }

/** From Postgres 14 on a server says this before anything can be asked. */
const IS_STANDBY = Buffer.from('in_hot_standby\0on\0')
const READY = 'Z'.charCodeAt(0)
const CANCEL_BYTES = 16
const GREETING_MAX_BYTES = 16 * 1024

function closingWithoutError(socket: Socket, { onData, refusesStandby }: Watching): Socket {
  const emit = socket.emit.bind(socket)
  /** What it has said of itself, until it is ready to be asked. */
  let greeting: Buffer | undefined = Buffer.alloc(0)

  function hear(bytes: Buffer): boolean {
    onData?.()
    if (!greeting) return true
    greeting = Buffer.concat([greeting, bytes])
    if (refusesStandby && greeting.includes(IS_STANDBY)) {
      socket.destroy(Object.assign(new Error('The server is a standby'), { code: 'IS_STANDBY' }))
      return false
    }
    // The last message of the greeting has six bytes. Where more came with it, it was longer than any greeting soon.
    if (greeting.at(-6) === READY || greeting.length > GREETING_MAX_BYTES) greeting = undefined
    return true
  }

  return Object.assign(socket, {
    emit(event: string, ...values: unknown[]) {
      if (event === 'data' && !hear(values[0] as Buffer)) return true
      if (event !== 'close') return emit(event, ...values)
      // The driver would connect again for its first query, without a pause and without an end. Whoever only asks to cancel
      // something is hung up on.
      if (greeting && socket.bytesWritten > CANCEL_BYTES)
        emit('error', Object.assign(new Error('The server hung up'), { code: 'ECONNRESET' }))
      return emit('close', false)
    },
  })
}

const ignore = () => {}

/** An error that is thrown at the driver loses the connection, too. One of its socket does not. */
function failing(error: Error): Duplex {
  const socket = new Duplex({ read() {}, write() {} })
  setImmediate(() => socket.destroy(error))
  return socket
}
