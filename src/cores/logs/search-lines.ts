/** Reads that may have to look at every line of an app: in turn, and for a limited time, so that others get a connection. */
import type { Transaction } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { LOG_SEARCH_SECONDS } from '../../contracts/limits.ts'
import type { Principal } from '../../contracts/operation.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import type { LogReads } from './log-reads.ts'
import type { LogApp } from './log-record.ts'
import type { LineFilter } from './matching-lines.ts'

/** Nobody in particular reads for a maintenance run. */
export type Reader = Pick<Principal, 'signal'> & Partial<Pick<Principal, 'userId'>>

export const searchLines = <T>(
  { db, logReads, signal, userId }: Pick<Storage, 'db'> & Reader & { readonly logReads: LogReads },
  { orgId, id: appId }: LogApp,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> => {
  const search = () =>
    withTransaction(db, async (tx) => {
      // Sent together: the answer to the first says nothing that the second waits for.
      const [, found] = await Promise.all([
        tx.execute(sql.raw(`set local statement_timeout = '${LOG_SEARCH_SECONDS}s'`)),
        work(tx),
      ])
      return found
    })
  return logReads.searches.take([orgId, userId ?? appId], search, { signal })
}

/** Without one of these, lines are read in the order of an index, and no more than are shown. */
export const isSearch = ({ text = '', group_id: group, level = 'trace' }: LineFilter): boolean =>
  text !== '' || group !== undefined || level !== 'trace'
