/**
 * What may be lost with the last second of a server that dies does not wait for its standby: counts, the time of the last use,
 * activity, log lines. A statement by itself says so in its own text, because it is a transaction of its own; for more than one
 * there is the durability of the operation (src/cores/transaction.ts).
 */
import type { SQL } from 'drizzle-orm'
import { sql } from './drizzle.ts'

/** Unless the operator has said that even this is too long. */
const SETTING = `current_setting('synchronous_commit') in ('local', 'off') or set_config('synchronous_commit', 'local', true) is not null`

/** Always true. For a condition that is asked of every row that the statement changes. */
export const locally = sql.raw(`(${SETTING})`)

/** The value itself, for a row that is added or changed. */
export const keptLocally = (value: SQL): SQL => sql`case when ${locally} then ${value} end`

/**
 * Which server it is: one that takes over was started at another moment. Unlike its timeline, this is told by every server, to
 * everybody, and while it recovers.
 */
export const SERVER = `extract(epoch from pg_postmaster_start_time())::text`

/** The first statement of a transaction. */
export const COMMIT_LOCALLY = `select (${SETTING}) as "isLocal", ${SERVER} as server`

/** Where it would wait for a standby, it does not, and this is its server: whoever commits waits afterwards (`CONFIRM`). */
export const CONFIRMED_LATER = `case when current_setting('synchronous_standby_names') <> ''
  and current_setting('synchronous_commit') not in ('local', 'off')
  then case when set_config('synchronous_commit', 'local', true) is not null then ${SERVER} end end`

const confirmedBy = new WeakMap<object, string>()

/** The transaction is answered only when the standby has confirmed all that was committed on this server. */
export const setConfirmedBy = (tx: object, server: string): void => void confirmedBy.set(tx, server)

export const confirmedByOf = (tx: object): string | undefined => confirmedBy.get(tx)

/** For a transaction that answers from what another one may only have committed locally. */
export const confirmLater = async (tx: Executes): Promise<void> => setConfirmedBy(tx, await serverOf(tx))

type Executes = { execute(query: SQL): PromiseLike<unknown> }

export async function serverOf(handle: Executes): Promise<string> {
  const [row] = (await handle.execute(sql.raw(`select ${SERVER} as server`))) as { server: string }[]
  return row!.server
}

export const isLocal = (text: string): boolean => text.includes(SETTING)
