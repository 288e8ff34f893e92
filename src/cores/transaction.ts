/** Joins the outer transaction when there is one; retries when Postgres asks for it. */
import { is, PgTransaction } from '../../db/drizzle.ts'
import type { Handle, Transaction } from '../../db/connect.ts'
import { endingKeepersOf, endingsIn, type Ending } from './record-ending.ts'

/** serialization_failure and deadlock_detected: nothing was done, so the same work can run again. */
const RETRYABLE = new Set(['40001', '40P01'])
const ATTEMPTS_MAX = 4

export async function withTransaction<T>(db: Handle, work: (tx: Transaction) => Promise<T>): Promise<T> {
  // Not nested: a savepoint would let half of the work survive.
  if (is(db, PgTransaction)) return work(db as Transaction)
  return retried(() => runOnce(db, work))
}

async function runOnce<T>(db: Handle, work: (tx: Transaction) => Promise<T>): Promise<T> {
  let ended: readonly Ending[] = []
  try {
    return await db.transaction(async (tx) => {
      const result = await work(tx)
      ended = endingsIn(tx)
      if (ended.length > 0) for (const keeper of endingKeepersOf(db)) await keeper.committing?.(ended)
      return result
    })
  } catch (error) {
    if (ended.length > 0 && codeOf(error) === 'OUTCOME_UNKNOWN')
      for (const keeper of endingKeepersOf(db)) keeper.unknown?.(ended)
    throw error
  }
}

/** For work of one statement, which is a transaction of its own. */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS_MAX || !RETRYABLE.has(codeOf(error))) throw error
    }
  }
}

function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return ''
}
