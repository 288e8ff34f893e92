/**
 * The call that somebody waits for, as the database sees it: what it has changed so far, whether anybody still waits, and how
 * durable its changes are. A call inside a call belongs to it. Work that no call waits for has none.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Durability } from '../src/contracts/operation.ts'

export type Call = {
  readonly parent: Call | undefined
  /** Until it is known what is called: forgetting to say it is safe. */
  durability: Durability
  /** Of the durable kind, that are done or may be. */
  changes: number
  /** `late`: nobody waits any more, and nothing that changes something may begin. */
  state: 'open' | 'late' | 'answered'
  readonly onLate: Set<(error: Error) => void>
}

const calls = new AsyncLocalStorage<Call>()

export function runCall<T>(work: (call: Call) => T): T {
  const call: Call = {
    parent: calls.getStore(),
    durability: 'standby',
    changes: 0,
    state: 'open',
    onLate: new Set(),
  }
  return calls.run(call, () => work(call))
}

/** What goes on by itself, whoever it was that began it. */
export const outsideCalls = <T>(work: () => T): T => calls.exit(work)

/** What goes on by itself and may be lost with the last second: it waits for no standby, and takes nobody's place who does. */
export const locallyOutsideCalls = <T>(work: () => T): T =>
  outsideCalls(() =>
    runCall((call) => {
      call.durability = 'local'
      return work()
    }),
  )

/** What goes on after the answer belongs to no call. */
export function currentCall(): Call | undefined {
  let call = calls.getStore()
  while (call?.state === 'answered') call = call.parent
  return call
}

/** Said by whoever knows which operation it is. */
export function declareDurability(durability: Durability): void {
  const call = currentCall()
  if (call) call.durability = durability
}

/** Of the call, and of those that it is a part of. */
export function countChange(call: Call | undefined, by: 1 | -1): void {
  for (let at = call; at; at = at.parent) at.changes += by
}

/** Whether something of this call is done, or may be. */
export const hasChanged = (): boolean => (currentCall()?.changes ?? 0) > 0

export function isLate(call: Call | undefined): boolean {
  for (let at = call; at; at = at.parent) if (at.state === 'late') return true
  return false
}

/** As whoever waits for work in time tells of it. */
export const lateError = (): Error => new DOMException('Nobody waits for it any more', 'TimeoutError')

/** Nobody waits any more: what has not begun is refused. */
export function endCall(call: Call): void {
  call.state = 'late'
  for (const refuse of call.onLate) refuse(lateError())
  call.onLate.clear()
}

/** Tells whoever waits for its turn that nobody waits for it. Returns how to end that. */
export function whenLate(call: Call | undefined, refuse: (error: Error) => void): () => void {
  for (let at = call; at; at = at.parent) at.onLate.add(refuse)
  return () => {
    for (let at = call; at; at = at.parent) at.onLate.delete(refuse)
  }
}
