/**
 * The driver (postgres.js 3.4.9) with sockets of ours, because it loses connections for good that break under load. Between
 * the error of a socket and its close it still sends queries on it, and at a close after an error it takes all of them for
 * answered: they wait for ever, or are answered with nothing by the next session, and the connection is never used again.
 * A close that tells of no error makes it reject them. And where a session broke amid its rows, the driver goes on counting
 * them in the next one: the first answer there begins with as many holes.
 */
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import postgres from 'postgres'
import { openSocket, tlsModeOf } from './managed/open-socket.ts'

type Settings = { readonly connect_timeout: number; readonly [option: string]: unknown }

/**
 * The driver's own waits grow to 20 s, for every connection of the pool: after a restart of the server of a few seconds
 * questions and `/readyz` would still wait that long. By chance, so that not all come back in the same moment.
 */
const RETRY_SECONDS = { first: 0.01, most: 1 }
const secondsUntilRetry = (failures: number): number =>
  (0.5 + Math.random() / 2) * Math.min(RETRY_SECONDS.first * 2 ** failures, RETRY_SECONDS.most)

export function openDriver(url: string, settings: Settings): postgres.Sql {
  const { searchParams, hostname, port } = new URL(url)
  // Its own way to a Unix socket, with the losses above.
  const opensItself = hostname === '' || searchParams.has('host') || searchParams.has('sslnegotiation')
  const address = {
    host: decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || 5432,
    ssl: tlsModeOf(searchParams),
  }
  const sockets = new Set<Socket>()
  let [failures, hasEnded] = [0, false]

  async function socket(): Promise<Duplex> {
    try {
      const opened = await openSocket(address, settings.connect_timeout * 1000)
      failures = 0
      if (!hasEnded) {
        sockets.add(opened)
        opened.once('close', () => sockets.delete(opened))
        return closingWithoutError(opened)
      }
      // The driver would use it, and the process would not end.
      opened.destroy()
      return failing(new Error('The pool was closed'))
    } catch (error) {
      failures += 1
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
  const options = {
    backoff: secondsUntilRetry,
    ...settings,
    ...(opensItself ? {} : ours),
  } as postgres.Options<Record<string, never>>
  const client = postgres(url, options)
  const unsafe = client.unsafe.bind(client)
  const end = client.end.bind(client)
  return Object.assign(client, {
    unsafe(...args: Parameters<typeof unsafe>) {
      const query = unsafe(...args)
      withoutHoles(query as unknown as DriverQuery)
      return query
    },
    async end(how?: { timeout?: number }): Promise<void> {
      await end(how)
      hasEnded = true
      // The driver waits for the server to close them; one that is frozen never does, and the process would not end.
      for (const opened of sockets) opened.destroy()
    },
  })
}

/** What the driver's types leave out. */
type DriverQuery = { resolve: (value: unknown) => void }

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

function closingWithoutError(socket: Socket): Socket {
  const emit = socket.emit.bind(socket)
  return Object.assign(socket, {
    emit: (event: string, ...values: unknown[]) =>
      event === 'close' ? emit('close', false) : emit(event, ...values),
  })
}

/** An error that is thrown at the driver loses the connection, too. One of its socket does not. */
function failing(error: Error): Duplex {
  const socket = new Duplex({ read() {}, write() {} })
  setImmediate(() => socket.destroy(error))
  return socket
}
