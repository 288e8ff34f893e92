/** A small pool to one managed database, for questions: an answer or an error, in bounded time. */
import { setTimeout as sleep } from 'node:timers/promises'
import { limitPlaces } from '../places.ts'
import { failurePause } from './failure-pause.ts'
import type { Target } from './open-socket.ts'
import {
  connectPostgres,
  GRACE_MS,
  type ConnectionSettings,
  type PostgresConnection,
} from './postgres-connection.ts'
import { problem } from './problem.ts'

export type { Target } from './open-socket.ts'

export type PoolSettings = ConnectionSettings & { readonly max: number; readonly idleSeconds: number }

export type Pool = {
  /** Parameters as Postgres writes them (`{1,2}` is an array). */
  readonly query: <Row extends object>(
    text: string,
    parameters?: readonly (string | null)[],
  ) => Promise<readonly Row[]>
  readonly end: () => Promise<void>
}

/** As `end`, and the server is asked to end what is under way. */
type Abortable = { readonly abort: () => Promise<void> }

const END_MS = 1_000

/** Errors are the server's and Node's own: they may hold addresses and values, and are not for the person who asked. */
export function openPool(target: Target, settings: PoolSettings): Pool & Abortable {
  const connections = new Set<PostgresConnection>()
  const idle = new Map<PostgresConnection, NodeJS.Timeout>()
  const dial = failingSlowly(() => connectPostgres(target, settings))
  // No longer than is of use.
  const waitMs = settings.statementTimeoutMs + (settings.graceMs ?? GRACE_MS)
  const places = limitPlaces(settings.max, undefined, waitMs)
  let hasEnded = false

  async function take(): Promise<PostgresConnection> {
    for (const [connection, timer] of idle) {
      clearTimeout(timer)
      idle.delete(connection)
      if (connection.isOpen) return connection
      connections.delete(connection)
    }
    if (hasEnded) throw closed()
    const connection = await dial()
    connections.add(connection)
    if (hasEnded) {
      drop(connection)
      throw closed()
    }
    return connection
  }

  function drop(connection: PostgresConnection): void {
    idle.delete(connection)
    connections.delete(connection)
    connection.close()
  }

  function giveBack(connection: PostgresConnection): void {
    if (hasEnded || !connection.isOpen) return drop(connection)
    idle.set(connection, setTimeout(() => drop(connection), settings.idleSeconds * 1_000).unref())
  }

  async function end(): Promise<void> {
    hasEnded = true
    for (const [connection, timer] of idle) {
      clearTimeout(timer)
      drop(connection)
    }
    await Promise.race([places.empty(), sleep(END_MS, undefined, { ref: false })])
    for (const connection of connections) drop(connection)
  }

  return {
    async query<Row extends object>(text: string, parameters: readonly (string | null)[] = []) {
      await places.enter()
      try {
        const connection = await take()
        try {
          return (await connection.query(text, parameters)) as readonly Row[]
        } finally {
          giveBack(connection)
        }
      } finally {
        places.leave()
      }
    },
    end,
    async abort() {
      const ended = end()
      await Promise.all([...connections].map((connection) => connection.cancel()))
      await ended
    },
  }
}

const closed = () => problem('CONNECTION_ENDED', 'The pool was closed')

/** Meanwhile the last failure is the answer. One that dialed nobody does not count. */
function failingSlowly<T>(connect: () => Promise<T>): () => Promise<T> {
  const pause = failurePause()
  return async () => {
    pause.check()
    try {
      const connection = await connect()
      pause.succeeded()
      return connection
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ADDRESS_NOT_ALLOWED') pause.failed(error)
      throw error
    }
  }
}
