/** The limits of dynamic registration: who has to give way to a newcomer, or how long the newcomer has to wait. */
import { DYNAMIC_CLIENTS, DYNAMIC_CLIENT_UNUSED_SECONDS } from '../../src/contracts/limits.ts'
import { networksAround } from '../../src/contracts/network-of.ts'

/** An active registration. */
export type Slot = {
  readonly clientId: string
  readonly originKey: string | null
  readonly registeredFrom: string | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  /** When the last of its live grants expires; null without one. */
  readonly grantsUntil: Date | null
}

export type Newcomer = { readonly originKey: string; readonly registeredFrom: string }

export type Evictions =
  | { readonly evicted: readonly string[] }
  | { readonly problem: string; readonly retryAfterSeconds: number }

type Registered = Pick<Slot, 'registeredFrom'>

const networkOf = ({ registeredFrom }: Registered): string => registeredFrom ?? ''
const blockOf = (slot: Registered): string => networksAround(networkOf(slot)).block
const siteOf = (slot: Registered): string => networksAround(networkOf(slot)).site

type Limit = {
  readonly max: number
  readonly problem: string
  readonly counts: (slot: Slot) => boolean
  /** Whose registrations are compared when one of them has to give way. */
  readonly by: (slot: Registered) => string
}

const limitsFor = (newcomer: Newcomer): readonly Limit[] => [
  {
    max: DYNAMIC_CLIENTS.perOrigin,
    problem: `this origin has ${DYNAMIC_CLIENTS.perOrigin} active registrations`,
    counts: (slot) => slot.originKey === newcomer.originKey,
    by: siteOf,
  },
  {
    max: DYNAMIC_CLIENTS.perAddress,
    problem: `this address has ${DYNAMIC_CLIENTS.perAddress} active registrations`,
    counts: (slot) => networkOf(slot) === networkOf(newcomer),
    by: networkOf,
  },
  {
    max: DYNAMIC_CLIENTS.perBlock,
    problem: `this /56 has ${DYNAMIC_CLIENTS.perBlock} active registrations`,
    counts: (slot) => blockOf(slot) === blockOf(newcomer),
    by: networkOf,
  },
  {
    max: DYNAMIC_CLIENTS.perSite,
    problem: `this /48 has ${DYNAMIC_CLIENTS.perSite} active registrations`,
    counts: (slot) => siteOf(slot) === siteOf(newcomer),
    by: networkOf,
  },
  {
    max: DYNAMIC_CLIENTS.active,
    problem: `the server has ${DYNAMIC_CLIENTS.active} active registrations`,
    counts: () => true,
    by: siteOf,
  },
]

/** A slot that gives way to one limit may be what another limit needs too, so they are applied one after the other. */
export function chooseEvictions(slots: readonly Slot[], newcomer: Newcomer, now: Date): Evictions {
  const evicted = new Set<string>()
  const left = () => slots.filter(({ clientId }) => !evicted.has(clientId))
  const refusals: { problem: string; at: number }[] = []
  for (const { max, problem, counts, by } of limitsFor(newcomer)) {
    for (let counted = left().filter(counts); counted.length >= max; counted = left().filter(counts)) {
      const dispensable = ofBusiest(counted, by, newcomer) ?? oldestUnused(counted, now)
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

/**
 * The oldest without a live grant of the network that has most of those, at once: a flood displaces itself. Where that network
 * has no more than the newcomer's would, nobody is busier than the newcomer.
 */
function ofBusiest(counted: readonly Slot[], by: Limit['by'], newcomer: Newcomer): Slot | undefined {
  const networks = Map.groupBy(counted.filter(isUnapproved), by)
  const own = networks.get(by(newcomer))?.length ?? 0
  const [busiest = []] = [...networks.values()].toSorted((a, b) => b.length - a.length)
  return busiest.length > own + 1 ? oldestOf(busiest) : undefined
}

const oldestUnused = (counted: readonly Slot[], now: Date): Slot | undefined =>
  oldestOf(counted.filter((slot) => givesWayAt(slot) <= now.getTime()))

const oldestOf = (slots: readonly Slot[]): Slot | undefined =>
  slots.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime())[0]

const isUnapproved = ({ grantsUntil }: Slot): boolean => grantsUntil === null

/** Whoever registered has ten minutes to approve it. Registering the same again gives nobody more. */
function givesWayAt({ createdAt, grantsUntil }: Slot): number {
  const unused = createdAt.getTime() + DYNAMIC_CLIENT_UNUSED_SECONDS * 1000
  return Math.max(unused, grantsUntil?.getTime() ?? 0)
}

/** When so many have given way or expired that one more fits. */
function freeAt(counted: readonly Slot[], max: number): number {
  const times = counted.map((slot) => Math.min(givesWayAt(slot), slot.expiresAt?.getTime() ?? Infinity))
  return times.toSorted((a, b) => a - b)[counted.length - max]!
}
