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
  /** Arrays as parameters are written as Postgres writes them (`{1,2}`): the driver was not asked to learn types. */
  readonly query: <Row extends object>(
    text: string,
    parameters?: readonly unknown[],
  ) => Promise<readonly Row[]>
  readonly end: () => Promise<void>
}

/** How much later than its own time-out a server may answer before it counts as silent. */
const GRACE_MS = 5_000

/** Errors are the driver's and Node's own: they may name addresses and quote values. Not for the person who asked. */
export function connectTo(target: Target, settings: PoolSettings): Pool {
  const { statementTimeoutMs, max, idleSeconds, parameters } = settings
  let underWay = 0

  const options = {
    ...SAFE_OPTIONS,
    // The whole way to the server, TLS included, is ours: pinned to checked addresses and bounded in time.
    socket: async () => {
      const socket = await openSocket(target)
      // statement_timeout is a wish that a server may not grant.
      if (socket instanceof Socket) {
        socket.setTimeout(statementTimeoutMs + GRACE_MS, () => {
          if (underWay > 0) socket.destroy(silence())
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
    // From here on it is the login; the way there has its own bound.
    connect_timeout: 5,
    // A question is what makes it connect, so a server that is back is asked at once.
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
      underWay += 1
      try {
        const asked = sql.unsafe<Row[]>(text, [...parameters] as never[], { prepare: true })
        return await inTime(asked, statementTimeoutMs + 2 * GRACE_MS)
      } finally {
        underWay -= 1
      }
    },
    end: () => sql.end({ timeout: 1 }),
  }
}

/** Also when a server keeps its connection alive and never comes to an end. */
async function inTime<T>(work: PromiseLike<T>, milliseconds: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(silence()), milliseconds)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

const silence = (): Error =>
  Object.assign(new Error('The database did not answer in time'), { code: 'ETIMEDOUT' })
