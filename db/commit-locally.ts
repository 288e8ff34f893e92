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

/** The first statement of a transaction. */
export const COMMIT_LOCALLY = `select ${SETTING}`

/** Where it would wait for a standby, it does not, and this is not null: whoever commits waits afterwards (`CONFIRM`). */
export const CONFIRMED_LATER = `case when current_setting('synchronous_standby_names') <> ''
  and current_setting('synchronous_commit') not in ('local', 'off')
  then set_config('synchronous_commit', 'local', true) end`

const confirmedLater = new WeakSet<object>()

/** For a transaction that commits locally, or that answers from what another one may only have committed locally. */
export const confirmLater = (tx: object): void => void confirmedLater.add(tx)

/** Whether it is answered only when the standby has confirmed what was committed. */
export const isConfirmedLater = (tx: object): boolean => confirmedLater.has(tx)

export const isLocal = (text: string): boolean => text.includes(SETTING)
