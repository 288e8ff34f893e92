/** Joins the outer transaction when there is one; retries when Postgres asks for it. */
import { COMMIT_LOCALLY, confirmedByOf } from '../../db/commit-locally.ts'
import { confirmationOf, type Database, type Handle, type Transaction } from '../../db/connect.ts'
import { currentCall } from '../../db/current-call.ts'
import { OutcomeUnknown } from '../../db/database-away.ts'
import { is, PgTransaction, sql } from '../../db/drizzle.ts'
import { endingKeepersOf, endingsIn, type Ending, type TakeBack } from './record-ending.ts'

/** serialization_failure and deadlock_detected: nothing was done, so the same work can run again. */
const RETRYABLE = new Set(['40001', '40P01'])
const ATTEMPTS_MAX = 4

export async function withTransaction<T>(db: Handle, work: (tx: Transaction) => Promise<T>): Promise<T> {
  // Not nested: a savepoint would let half of the work survive.
  if (is(db, PgTransaction)) return work(db as Transaction)
  return retried(() => runOnce(db, work))
}

async function runOnce<T>(db: Handle, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const confirm = confirmationOf(db)
  const isLocal = confirm !== undefined && currentCall()?.durability === 'local'
  let ended: readonly Ending[] = []
  let kept: readonly Promise<TakeBack>[] = []
  let [isWorkDone, isCommitted, isOver] = [false, false, false]
  /** The one that is to confirm it, if one is. */
  let server: string | undefined
  try {
    const result = await db.transaction(async (tx) => {
      const [, worked] = await Promise.all([isLocal && tx.execute(sql.raw(COMMIT_LOCALLY)), work(tx)])
      // Its connection was lost meanwhile, and whoever waited has been told.
      if (isOver) return worked
      ended = endingsIn(tx)
      server = isLocal ? undefined : confirmedByOf(tx)
      if (ended.length === 0) return worked
      kept = endingKeepersOf(db).flatMap((keeper) => keeper.committing?.(ended) ?? [])
      await Promise.all(kept)
      // Seen by every process at once, whatever becomes of the standby; it is answered when that has it, too.
      if (confirm) server = (await tx.execute<{ server: string }>(sql.raw(COMMIT_LOCALLY)))[0]!.server
      isWorkDone = true
      return worked
    })
    isCommitted = true
    if (server !== undefined && confirm && (await confirm()) !== server) {
      // It may not be there.
      isCommitted = false
      throw anotherServer()
    }
    return result
  } catch (error) {
    isOver = true
    if (ended.length === 0) throw isCommitted ? unknownOf(error) : error
    let isUnknown = isCommitted || codeOf(error) === 'OUTCOME_UNKNOWN'
    if (!isUnknown && (!isWorkDone || isRefusal(error))) isUnknown = !(await takeBack(kept))
    if (!isUnknown) throw error
    for (const keeper of endingKeepersOf(db)) keeper.unknown?.(ended, isCommitted && !isLost(error))
    throw unknownOf(error)
  }
}

/** Nobody knows whether it has what was committed on the one before. */
export const anotherServer = (): OutcomeUnknown =>
  new OutcomeUnknown(new Error('Another server has taken over'))

const unknownOf = (error: unknown): unknown =>
  codeOf(error) === 'OUTCOME_UNKNOWN' ? error : new OutcomeUnknown(error)

/** Of a confirmation: its server is gone, and another one that takes over may not have what was committed. */
export const isLost = (error: unknown): boolean =>
  codeOf(error) === 'DATABASE_AWAY' || codeOf(error) === 'OUTCOME_UNKNOWN'

/** False: what is kept cannot be taken back, so it may be done later. */
async function takeBack(kept: readonly Promise<TakeBack>[]): Promise<boolean> {
  // One that failed keeps nothing.
  const made = await Promise.allSettled(kept)
  const taken = await Promise.allSettled(
    made.flatMap((one) => (one.status === 'fulfilled' ? one.value() : [])),
  )
  return taken.every(({ status }) => status === 'fulfilled')
}

/** Of a commit: the server has refused it, or it was not sent. */
function isRefusal(error: unknown): boolean {
  if (codeOf(error) === 'DATABASE_AWAY') return true
  for (let at = error; at instanceof Error; at = at.cause)
    if (at.name === 'PostgresError' || at.name === 'TimeoutError') return true
  return false
}

/** Where somebody else waits for the standby, or nobody need. */
export const committingLocally = <T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  retried(() =>
    db.transaction(async (tx) => {
      await tx.execute(sql.raw(COMMIT_LOCALLY))
      return work(tx)
    }),
  )

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

/** Of the database, or of what lies between; empty: none. */
export function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return ''
}
