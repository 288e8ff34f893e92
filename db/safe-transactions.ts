/**
 * Keeps transactions whole when their connection is lost. The driver (postgres.js 3.4.9) then goes on using it: the
 * ROLLBACK it sends ends the process (there is nothing left to write to), or lands in the next transaction on the
 * same connection. So nothing more is sent for a transaction once its connection is in doubt.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { countChange, currentCall, isLate, lateError } from './current-call.ts'
import { mayChange, OutcomeUnknown } from './database-away.ts'

export const SAFE_OPTIONS = {
  // A BEGIN that fills the pipeline is sent without reserving its connection: the next query of anybody else would join it.
  max_pipeline: Number.POSITIVE_INFINITY,
  connection: {
    // What was not yet written when a connection broke is put before the next start-up packet, and together they wait
    // forever. From 1,024 bytes on they are sent at once: the other side hangs up and the next attempt is clean.
    options: ' '.repeat(1024),
  },
}

/** The driver reports an error before the close it announces; the close comes in the same turn of the event loop. */
const CLOSE_FOLLOWS_MS = 1_000

/** As the driver tells of it. */
const lostError = () =>
  Object.assign(new Error('The connection was lost during the transaction'), { code: 'CONNECTION_CLOSED' })

type Work = (tx: postgres.TransactionSql) => unknown
type State = {
  doubtful: boolean
  lost: boolean
  hasChanged: boolean
  failure?: unknown
  readonly closed: Promise<void>
}

/** What to throw instead of an error: `committing` when it came after all of the work was done. */
type AsThrown = (error: unknown, phase: 'working' | 'committing') => unknown

export function makeTransactionsSafe(sql: postgres.Sql, asThrown: AsThrown = (error) => error): postgres.Sql {
  const begin = sql.begin.bind(sql)
  const safeBegin = async (work: Work): Promise<unknown> => {
    const { promise: closed, resolve: close } = Promise.withResolvers<void>()
    const state: State = { doubtful: false, lost: false, hasChanged: false, closed }
    const call = currentCall()
    let [isCommitting, isCounted] = [false, false]
    try {
      return await begin(async (tx) => {
        const result = await watched(state, tx, work)
        if (call && state.hasChanged && call.durability !== 'local') {
          if (isLate(call)) throw lateError()
          isCounted = true
          countChange(call, 1)
        }
        isCommitting = true
        return result
      })
    } catch (error) {
      // Rolled back, or the connection is gone: then the work may still be running and must not go on.
      state.lost = true
      close()
      const closing = (error as { code?: unknown }).code === 'CONNECTION_CLOSED'
      const thrown = closing ? (state.failure ?? error) : error
      const told = asThrown(thrown, isCommitting ? 'committing' : 'working')
      if (isCounted && !(told instanceof OutcomeUnknown)) countChange(call, -1)
      throw told
    }
  }
  return Object.assign(sql, { begin: safeBegin })
}

/** Runs the work, and gives control back to the driver only while there is a connection to commit or roll back on. */
async function watched(state: State, tx: postgres.TransactionSql, work: Work): Promise<unknown> {
  try {
    return await work(guarded(state, tx))
  } finally {
    if (state.doubtful) await Promise.race([state.closed, sleep(CLOSE_FOLLOWS_MS)])
    // Whoever waits for this transaction has its error already.
    if (state.lost) await new Promise<never>(() => {})
  }
}

function guarded(state: State, tx: postgres.TransactionSql): postgres.TransactionSql {
  const unsafe = (...args: Parameters<typeof tx.unsafe>) => {
    if (state.doubtful || state.lost) throw lostError()
    state.hasChanged ||= mayChange(args[0])
    const query = tx.unsafe(...args)
    query.catch((error: unknown) => {
      if (error instanceof postgres.PostgresError) return
      state.doubtful = true
      state.failure ??= error
    })
    return query
  }
  const savepoint = (work: Work) => tx.savepoint((inner) => watched(state, inner, work))
  return { unsafe, savepoint } as unknown as postgres.TransactionSql
}
