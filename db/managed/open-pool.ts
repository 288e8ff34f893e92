/** A small pool to one managed database, for questions: an answer or an error, in bounded time. */
import { Socket } from 'node:net'
import postgres from 'postgres'
import { SAFE_OPTIONS } from '../safe-transactions.ts'
import { openSocket, type Target } from './open-socket.ts'

export type { Target, TlsMode } from './open-socket.ts'

export type PoolSettings = {
  readonly statementTimeoutMs: number
  readonly max: number
  readonly idleSeconds: number
  /** Session settings, given at start-up: every connection has them before its first question, at no cost. */
  readonly parameters: Readonly<Record<string, string>>
}

export type Pool = {
  /** Arrays as parameters are written as Postgres writes them (`{1,2}`): fetch_types is off. */
  readonly query: <Row extends object>(
    text: string,
    parameters?: readonly unknown[],
  ) => Promise<readonly Row[]>
  readonly end: () => Promise<void>
}

/** How long after statement_timeout a server may still answer. */
const GRACE_MS = 5_000

/** Errors are the driver's and Node's own: they may hold addresses and values, and are not for the person who asked. */
export function openPool(target: Target, settings: PoolSettings): Pool {
  const { statementTimeoutMs, max, idleSeconds, parameters } = settings
  let running = 0

  const options = {
    ...SAFE_OPTIONS,
    // We connect ourselves, TLS included: only to allowed addresses, and with a time limit.
    socket: async () => {
      const socket = await openSocket(target)
      // A server may ignore statement_timeout.
      if (socket instanceof Socket) {
        socket.setTimeout(statementTimeoutMs + GRACE_MS, () => {
          if (running > 0) socket.destroy(timeoutError())
        })
      }
      return socket
    },
    ssl: false,
    // As lists, because the driver takes a single text apart at its colons.
    host: [target.host],
    port: [target.port],
    user: target.user,
    database: target.database,
    password: target.password,
    max,
    idle_timeout: idleSeconds,
    // For the login only: openSocket has its own limit.
    connect_timeout: 5,
    // Connections are opened by queries, so one that is back is used at once.
    backoff: () => 0,
    fetch_types: false,
    onnotice() {},
    connection: {
      ...parameters,
      ...SAFE_OPTIONS.connection,
      application_name: 'svc',
      statement_timeout: statementTimeoutMs,
    },
  }
  // The driver's types leave out `socket` and `max_pipeline`.
  const sql = postgres(options as unknown as postgres.Options<Record<string, never>>)

  return {
    async query<Row extends object>(text: string, parameters: readonly unknown[] = []) {
      running += 1
      try {
        const asked = sql.unsafe<Row[]>(text, [...parameters] as never[], { prepare: true })
        return await withTimeout(asked, statementTimeoutMs + 2 * GRACE_MS)
      } finally {
        running -= 1
      }
    },
    end: () => sql.end({ timeout: 1 }),
  }
}

/** Also where a server keeps sending and never finishes. */
async function withTimeout<T>(work: PromiseLike<T>, milliseconds: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(timeoutError()), milliseconds)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

const timeoutError = (): Error =>
  Object.assign(new Error('The database did not answer in time'), { code: 'ETIMEDOUT' })
