/**
 * What a process does while its database is away: stopped, out of reach, or a standby. Few calls wait for a moment, all others
 * are told at once, and nothing of theirs is sent, so that who is told so knows that it was not done.
 */
import postgres from 'postgres'
import { QueryError } from './drizzle.ts'

/** The database is away: what failed with it was not done. */
export class DatabaseAway extends Error {
  override readonly name = 'DatabaseAway'
  readonly code = 'DATABASE_AWAY'
  constructor(cause?: unknown) {
    super('The database is away', { cause })
  }
}

/** The connection was lost after something was sent that changes the database: it may be done. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown'
  readonly code = 'OUTCOME_UNKNOWN'
  constructor(cause: unknown) {
    super('The connection was lost, and what was sent may be done', { cause })
  }
}

const LOST_CODES = new Set(
  `CONNECTION_CLOSED CONNECTION_DESTROYED CONNECT_TIMEOUT IS_STANDBY NOT_LOOKED_AT
  ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN`.split(/\s+/),
)

/** Of the driver: connections that are lost, refused or shut down, and servers that take no writes. */
export function isLoss(error: unknown): boolean {
  const own = driverError(error)
  const { code } = (own ?? {}) as { code?: unknown }
  if (typeof code !== 'string') return false
  return own instanceof postgres.PostgresError ? isAwayState(code) : LOST_CODES.has(code)
}

/** The server takes no writes: it is a standby, or was told to. */
export function isReadOnly(error: unknown): boolean {
  const own = driverError(error)
  return own instanceof postgres.PostgresError && own.code === READ_ONLY
}

const driverError = (error: unknown): unknown => (error instanceof QueryError ? error.cause : error)

/** Connection exceptions, operator intervention, and a server that takes no writes. */
const isAwayState = (state: string): boolean =>
  state.startsWith('08') || state.startsWith('57P') || state === READ_ONLY

const READ_ONLY = '25006'

const CHANGES = /\b(?:insert\s+into|update|delete\s+from|merge\s+into|pg_logical_emit_message)\b/i

/** Of a statement by itself; those of a transaction are done with its commit. */
export const mayChange = (text: string): boolean => CHANGES.test(text)

export const AWAY = {
  /** How long a call waits for the database to come back. */
  waitMs: 2_000,
  /** How many wait. */
  waiting: 100,
  lookMs: 100,
}

/** What of the driver's queries is used here; its types leave it out. */
export type DriverQuery = {
  handler: ((query: DriverQuery) => void) & { debug?: unknown }
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
  /** Once it is on a connection. */
  readonly state: unknown
  strings: readonly string[]
  args: readonly unknown[]
  options: object
}

/** Whatever waits for a connection, or for its turn to get one. */
type Waiter = { readonly isWaiting: () => boolean; readonly refuse: (error: Error) => void }

export type Gate = ReturnType<typeof createGate>

/** Keeps whatever waits for a connection of the driver, which would keep it for as long as the database is away, and then send it. */
export function createGate(limits = AWAY) {
  /** With the time since when. */
  const waiting = new Map<Waiter, number>()
  let cause: unknown
  let [isAway, isClosed] = [false, false]
  let timer: NodeJS.Timeout | undefined
  let held: Promise<void> | undefined

  function look(): void {
    const over = performance.now() - limits.waitMs
    let places = limits.waiting
    for (const [waiter, since] of waiting) {
      const isWaiting = waiter.isWaiting()
      if (isWaiting && since > over && places-- > 0) continue
      waiting.delete(waiter)
      if (isWaiting) waiter.refuse(new DatabaseAway(cause))
    }
  }

  /** Throws when the database is away and as many wait as may. Returns how to wait no more. */
  function wait(waiter: Waiter): () => void {
    if (isAway && waiting.size >= limits.waiting) throw new DatabaseAway(cause)
    waiting.set(waiter, performance.now())
    return () => void waiting.delete(waiter)
  }

  return {
    isAway: () => isAway,
    /** A connection could not be opened, or was lost. */
    lost(error: unknown): void {
      isAway = true
      cause = error
      // Not at once: where one connection is lost, others may be well.
      if (!isClosed) timer ??= setInterval(look, limits.lookMs)
    },
    /** The server has said something. */
    found(): void {
      if (!isAway) return
      isAway = false
      clearInterval(timer)
      timer = undefined
    },
    /** Nothing more is sent until this is over; what waits for it fails with it. */
    hold(until: Promise<void>): void {
      const over = () => {
        if (held === until) held = undefined
      }
      held = until
      until.then(over, over)
    },
    wait,
    /** Returns how to refuse it as long as it is not on a connection. */
    guard(query: DriverQuery): { settled: () => void; refuse: (error: Error) => void } {
      const { handler } = query
      const waiter = { isWaiting: () => query.state === null, refuse: (error: Error) => refuse(query, error) }
      let isRefused = false
      /** Nobody waits for longer than for a database that is away; what was refused is not sent afterwards. */
      const waitForHold = (hold: Promise<void>): void => {
        const refuseNow = (error: unknown) => {
          if (!isRefused) query.reject(new DatabaseAway(error))
          isRefused = true
        }
        const late = setTimeout(refuseNow, limits.waitMs, cause)
        hold
          .finally(() => clearTimeout(late))
          .then(() => {
            if (!isRefused) guarded()
          }, refuseNow)
      }
      const guarded = (): void => {
        if (held) return waitForHold(held)
        try {
          wait(waiter)
        } catch (error) {
          return query.reject(error)
        }
        handler(query)
        if (query.state !== null) waiting.delete(waiter)
      }
      query.handler = Object.assign(guarded, { debug: handler.debug })
      return {
        settled: () => void waiting.delete(waiter),
        refuse: (error) => void (query.state === null && refuse(query, error)),
      }
    },
    /** Waits for nothing any more. */
    close(): void {
      isClosed = true
      clearInterval(timer)
    },
  }
}

/** The driver has it already and sends it to the next connection, which is lost to all others if there is nothing to send. */
function refuse(query: DriverQuery, error: Error): void {
  query.reject(error)
  Object.assign(query, { strings: ['select 1'], args: [], options: { simple: true, prepare: false } })
}
