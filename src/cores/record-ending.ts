/**
 * Every ending passes through here, in the transaction that ends it. Whoever keeps endings elsewhere, or must know what became
 * of them, is told of all that a transaction ends before it commits: a lost commit must not let anything live on unseen.
 */
import type { Transaction } from '../../db/connect.ts'

/** What ends by a row of its own. */
const ENDED_KINDS = [
  'session',
  'api_token',
  'grant',
  'machine_credential',
  'invitation',
  'app_token',
  'support_session',
  'service_account',
  'membership',
] as const
export type EndedKind = (typeof ENDED_KINDS)[number]

export type Ending = {
  readonly kind: EndedKind
  readonly id: string
  /** Null for what belongs to a person alone. */
  readonly orgId: string | null
}

export type EndingKeeper = {
  /** All work of the transaction is done, and it has not committed: if this throws, nothing is ended. */
  committing?(endings: readonly Ending[]): Promise<void>
  /** Nobody knows whether it is committed; or it is, and the standby has not confirmed that it has it. */
  unknown?(endings: readonly Ending[], isCommitted: boolean): void
}

const endings = new WeakMap<object, Ending[]>()

/** Of rows that were live until now. */
export function recordEnding(
  tx: Transaction,
  kind: EndedKind,
  rows: readonly { readonly id: string; readonly orgId: string | null }[],
): void {
  if (rows.length === 0) return
  const known = endings.get(tx) ?? []
  endings.set(tx, known)
  for (const { id, orgId } of rows) known.push({ kind, id, orgId })
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
