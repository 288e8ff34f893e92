/**
 * Groups of those who wait: whose turn is next, and which has most. No step depends on how many there are, because a line
 * that is full is asked for every request that comes. Counts change by one, so whoever has most is always in the same list,
 * or in the one below.
 */
import { linkedList } from '../cores/work/linked-list.ts'

export type WaitingGroup<T> = { readonly name: string; readonly members: T; count: number }
type Placed<T> = WaitingGroup<T> & { leaveTurn: () => void; leaveRank: () => void }

export function waitingGroups<T>(createMembers: () => T) {
  const groups = new Map<string, Placed<T>>()
  const turns = linkedList<Placed<T>>()
  /** By count. */
  const ranks = [linkedList<Placed<T>>()]
  let most = 0

  function rank(group: Placed<T>): void {
    group.leaveRank()
    group.leaveRank = (ranks[group.count] ??= linkedList()).append(group)
  }

  function create(name: string): Placed<T> {
    const group: Placed<T> = { name, members: createMembers(), count: 0, leaveTurn() {}, leaveRank() {} }
    group.leaveTurn = turns.append(group)
    groups.set(name, group)
    return group
  }

  return {
    get: (name: string): WaitingGroup<T> | undefined => groups.get(name),
    next: (): WaitingGroup<T> | undefined => turns.first(),
    /** Of several, the one that came to it last. */
    longest: (): WaitingGroup<T> | undefined => ranks[most]!.last(),
    /** One more waits in it. */
    grow(name: string): WaitingGroup<T> {
      const group = groups.get(name) ?? create(name)
      group.count += 1
      rank(group)
      most = Math.max(most, group.count)
      return group
    },
    /** One less. */
    shrink({ name }: WaitingGroup<T>): void {
      const group = groups.get(name)!
      group.count -= 1
      if (group.count > 0) rank(group)
      else {
        group.leaveRank()
        group.leaveTurn()
        groups.delete(name)
      }
      if (!ranks[most]!.last()) most -= 1
    },
    /** It had its turn. */
    toBack({ name }: WaitingGroup<T>): void {
      const group = groups.get(name)
      if (!group) return
      group.leaveTurn()
      group.leaveTurn = turns.append(group)
    },
  }
}
