/** Tells open pages that a list has changed, in the transaction that changes it; of what it holds nothing is said. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { notify, notifyEach, notifySoon } from '../../../db/listen.ts'
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

export const notifyChangeSoon = (db: Handle, list: ChangingList, changed: Changed): void =>
  void notifySoon(db, 'changes', keyOf(list, changed), SOON_MS)

export type Change = { readonly orgId: string; readonly list: ChangingList; readonly userId: string | null }

/** Of a process that is newer or older than this one, it may be about a list that is not known here. */
export function readChange(key: string): Change | undefined {
  const [orgId, list, userId] = key.split('/')
  if (orgId === undefined || list === undefined || !(list in CHANGING_LISTS)) return undefined
  return { orgId, list: list as ChangingList, userId: userId || null }
}
