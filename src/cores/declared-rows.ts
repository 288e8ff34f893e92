/**
 * What the transaction of a verb may leave in the audit trail and in the outbox, whoever in it does so: what the verb
 * declares. Transactions of loops, of pages and of SCIM declare nothing, and may leave anything.
 */
import type { Handle, Transaction } from '../../db/connect.ts'

type Rows = { readonly audit: readonly string[]; readonly events: readonly string[] }
type Undeclared = (error: Error) => void

const declared = new WeakMap<object, Rows & { readonly undeclared: Undeclared }>()
const warned = new WeakMap<object, Undeclared>()

/** For the transactions of this handle: a mistake of ours does not cost anybody what they have done. */
export const warnOfUndeclared = (db: object, warn: Undeclared): void => void warned.set(db, warn)

function refuse(error: Error): never {
  throw error
}

/** Said by the envelope alone, which has opened this transaction of this handle. */
export const declareRows = (db: Handle, tx: Transaction, rows: Rows): void =>
  void declared.set(tx, { ...rows, undeclared: warned.get(db) ?? refuse })

export function requireDeclared(tx: Transaction, kind: keyof Rows, name: string): void {
  const rows = declared.get(tx)
  if (rows === undefined || rows[kind].includes(name)) return
  const known = rows[kind].join(', ') || 'nothing'
  rows.undeclared(new Error(`A verb writes ${name}, and declares as its ${kind}: ${known}`))
}
