/** The limits of dynamic registration: who has to give way to a newcomer, or how long the newcomer has to wait. */
import { DYNAMIC_CLIENTS, DYNAMIC_CLIENT_UNUSED_SECONDS } from '../../src/contracts/limits.ts'

/** An active registration. */
export type Slot = {
  readonly clientId: string
  readonly originKey: string | null
  readonly registeredFrom: string | null
  readonly createdAt: Date
  /** Registered again, or used. */
  readonly lastUsedAt: Date | null
  readonly expiresAt: Date | null
  /** When the last of its live grants expires; null without one. */
  readonly grantsUntil: Date | null
}

export type Newcomer = { readonly originKey: string; readonly registeredFrom: string }

export type Evictions =
  | { readonly evicted: readonly string[] }
  | { readonly problem: string; readonly retryAfterSeconds: number }

type Limit = { readonly max: number; readonly problem: string; readonly counts: (slot: Slot) => boolean }

const limitsFor = ({ originKey, registeredFrom }: Newcomer): readonly Limit[] => [
  {
    max: DYNAMIC_CLIENTS.perOrigin,
    problem: `this origin has ${DYNAMIC_CLIENTS.perOrigin} active registrations`,
    counts: (slot) => slot.originKey === originKey,
  },
  {
    max: DYNAMIC_CLIENTS.perAddress,
    problem: `this address has ${DYNAMIC_CLIENTS.perAddress} active registrations`,
    counts: (slot) => slot.registeredFrom === registeredFrom,
  },
  {
    max: DYNAMIC_CLIENTS.active,
    problem: `the server has ${DYNAMIC_CLIENTS.active} active registrations`,
    counts: () => true,
  },
]

/** A slot that gives way to one limit may be what another limit needs too, so they are applied one after the other. */
export function chooseEvictions(slots: readonly Slot[], newcomer: Newcomer, now: Date): Evictions {
  const evicted = new Set<string>()
  const left = () => slots.filter(({ clientId }) => !evicted.has(clientId))
  const refusals: { problem: string; at: number }[] = []
  for (const { max, problem, counts } of limitsFor(newcomer)) {
    for (let counted = left().filter(counts); counted.length >= max; counted = left().filter(counts)) {
      const dispensable = firstToGiveWay(counted, left(), now)
      if (dispensable === undefined) {
        refusals.push({ problem, at: freeAt(counted, max) })
        break
      }
      evicted.add(dispensable.clientId)
    }
  }
  const [last] = refusals.toSorted((a, b) => b.at - a.at)
  if (!last) return { evicted: [...evicted] }
  return {
    problem: last.problem,
    retryAfterSeconds: Math.max(1, Math.ceil((last.at - now.getTime()) / 1000)),
  }
}

/** The oldest one without a live grant of the busiest address: a flood displaces itself first. */
function firstToGiveWay(counted: readonly Slot[], all: readonly Slot[], now: Date): Slot | undefined {
  const busy = new Map<string | null, number>()
  for (const { registeredFrom } of all) busy.set(registeredFrom, (busy.get(registeredFrom) ?? 0) + 1)
  return counted
    .filter((slot) => givesWayAt(slot) <= now.getTime())
    .toSorted(
      (a, b) =>
        busy.get(b.registeredFrom)! - busy.get(a.registeredFrom)! ||
        a.createdAt.getTime() - b.createdAt.getTime(),
    )[0]
}

/** Whoever registered has ten minutes to approve it. */
function givesWayAt({ createdAt, lastUsedAt, grantsUntil }: Slot): number {
  const unused = (lastUsedAt ?? createdAt).getTime() + DYNAMIC_CLIENT_UNUSED_SECONDS * 1000
  return Math.max(unused, grantsUntil?.getTime() ?? 0)
}

/** When so many have given way or expired that one more fits. */
function freeAt(counted: readonly Slot[], max: number): number {
  const times = counted.map((slot) => Math.min(givesWayAt(slot), slot.expiresAt?.getTime() ?? Infinity))
  return times.toSorted((a, b) => a - b)[counted.length - max]!
}
