/** Tells open pages that a list has changed, in the transaction that changes it; of what it holds nothing is said. */
import { outsideCalls } from '../../../db/current-call.ts'
import type { Handle, Transaction } from '../../../db/connect.ts'
import { notify, notifyEach } from '../../../db/listen.ts'
import { CHANGING_LISTS, type ChangingList } from '../../contracts/changes.ts'

/** `userId`: whose part of it. */
type Changed = { readonly orgId: string; readonly userId?: string | null }

/** Neither kind of id has a slash. */
const keyOf = (list: ChangingList, { orgId, userId }: Changed): string => `${orgId}/${list}/${userId ?? ''}`

export const notifyChange = (
  handle: Handle | Transaction,
  list: ChangingList,
  changed: Changed,
): Promise<void> => notify(handle, 'changes', keyOf(list, changed))

/** The same of many at once. */
export const notifyChanges = (
  handle: Handle | Transaction,
  list: ChangingList,
  changed: readonly Changed[],
): Promise<void> =>
  notifyEach(
    handle,
    'changes',
    changed.map((one) => keyOf(list, one)),
  )

/** Between two notices of what changes with every call. */
const SOON_MS = 2_000

const waiting = new WeakMap<Handle, Set<string>>()

/**
 * For what changes many times a second, in statements that must not take longer: all of it is told in one statement now and
 * then. If the process ends before, a page learns of it with the next change.
 */
export function notifyChangeSoon(db: Handle, list: ChangingList, changed: Changed): void {
  const before = waiting.get(db)
  if (before) return void before.add(keyOf(list, changed))
  const keys = new Set([keyOf(list, changed)])
  waiting.set(db, keys)
  const tell = () => {
    waiting.delete(db)
    // A database that is away says so to whoever asks it.
    void notifyEach(db, 'changes', keys).catch(() => {})
  }
  outsideCalls(() => setTimeout(tell, SOON_MS).unref())
}

export type Change = { readonly orgId: string; readonly list: ChangingList; readonly userId: string | null }

/** Of a process that is newer or older than this one, it may be about a list that is not known here. */
export function readChange(key: string): Change | undefined {
  const [orgId, list, userId] = key.split('/')
  if (orgId === undefined || list === undefined || !(list in CHANGING_LISTS)) return undefined
  return { orgId, list: list as ChangingList, userId: userId || null }
}
