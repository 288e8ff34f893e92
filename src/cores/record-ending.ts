/**
 * Every ending passes through here, in the transaction that ends it. Whoever keeps endings elsewhere, or must know what became
 * of them, is told of all that a transaction ends before it commits: a lost commit must not let anything live on unseen.
 */
import type { Transaction } from '../../db/connect.ts'
import type { EndedKind } from '../contracts/endings.ts'

export type EndedRow = {
  readonly id: string
  /** Null for what belongs to a person alone. */
  readonly orgId: string | null
  /** Of a value that was replaced: it ends again only where it is still the one. */
  readonly was?: string
  /** What took its place, by the names of the columns. */
  readonly to?: Readonly<Record<string, string | null>>
}

export type Ending = EndedRow & { readonly kind: EndedKind }

/** Nothing was ended after all, and whoever asked is told so: it must not be done later. */
export type TakeBack = () => Promise<void>

export type EndingKeeper = {
  /** All work of the transaction is done, and it has not committed: if this throws, nothing is ended. */
  committing?(endings: readonly Ending[]): Promise<TakeBack>
  /** Nobody knows whether it is committed; or it is, and the standby has not confirmed that it has it. */
  unknown?(endings: readonly Ending[], isCommitted: boolean): void
}

const endings = new WeakMap<object, Ending[]>()

/** Of rows that were live until now. */
export function recordEnding(tx: Transaction, kind: EndedKind, rows: readonly EndedRow[]): void {
  if (rows.length === 0) return
  const known = endings.get(tx) ?? []
  endings.set(tx, known)
  // Of what may be whole rows, no more than this leaves the database.
  for (const { id, orgId, was, to } of rows)
    known.push({ kind, id, orgId, ...(was !== undefined && { was }), ...(to && { to }) })
}

export const endingsIn = (tx: Transaction): readonly Ending[] => endings.get(tx) ?? []

const keepers = new WeakMap<object, EndingKeeper[]>()

/** For the transactions of this handle, which is one of `connect`. Returns how to leave. */
export function addEndingKeeper(db: object, keeper: EndingKeeper): () => void {
  keepers.set(db, [...endingKeepersOf(db), keeper])
  return () =>
    void keepers.set(
      db,
      endingKeepersOf(db).filter((one) => one !== keeper),
    )
}

export const endingKeepersOf = (db: object): readonly EndingKeeper[] => keepers.get(db) ?? []
