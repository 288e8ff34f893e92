/**
 * Lanes: who may have how many posts in flight in this process, by the health of the target, so that whoever hangs takes no
 * slot from the others: not from another organization, and not from its own. Targets are counted in their rows as well, for
 * all workers; here it only saves asking.
 */
import { CHANNELS, type Channel } from '../../../contracts/channels.ts'
import { CLAIM, LANES } from '../../../contracts/limits.ts'
import type { ClaimCapacity, TargetHealth } from './claim-messages.ts'

export type Laned = {
  readonly orgId: string
  readonly target: string
  readonly channel: Channel
  readonly health: TargetHealth
}
/** Since when it is on its way. */
export type InFlight<T extends Laned = Laned> = ReadonlyMap<T, number>

type Lane = readonly [lane: string, max: number]

/**
 * Of one moment, with so many slots occupied. Each organization has a quarter of the slots. What is idle is lent, to healthy targets alone: their sends
 * are over in a moment, so a slot that was lent is back within one.
 */
export function openLanes(
  inFlight: InFlight,
  { inFlightMax, occupied, now }: { inFlightMax: number; occupied: number; now: number },
) {
  const counts = new Map<string, number>()
  const count = (lane: string) => counts.get(lane) ?? 0
  const isFull = ([lane, max]: Lane) => count(lane) >= max
  const share = shareOf(inFlightMax)
  const ofOrganization = ({ orgId }: Laned): Lane => [`organization ${orgId}`, share]
  const lanesOf = (message: Laned): Lane[] => {
    const { orgId, target, channel, health } = message
    return [
      ['all', inFlightMax],
      [`target ${orgId} ${target}`, LANES.perTarget],
      ...(health === 'slow' ? slowLanes(orgId, inFlightMax) : []),
      ...(CHANNELS[channel].sharedServer
        ? [
            [`channel ${channel}`, share] as const,
            // When it hangs, the organization's other messages still have slots.
            [`shared servers ${orgId}`, Math.max(1, Math.floor(share / 2))] as const,
          ]
        : []),
    ]
  }
  const occupy = (message: Laned): void => {
    for (const [lane] of [...lanesOf(message), ofOrganization(message)]) counts.set(lane, count(lane) + 1)
  }
  for (const [message, since] of inFlight)
    occupy(isOverdue(since, now) ? { ...message, health: 'slow' } : message)
  counts.set('all', occupied)
  return {
    /** False: one of its lanes is full. `borrows`: when everybody has had their own. */
    enter(message: Laned, { borrows }: { readonly borrows: boolean }): boolean {
      if (lanesOf(message).some(isFull)) return false
      if (isFull(ofOrganization(message)) && !(borrows && message.health === 'healthy')) return false
      occupy(message)
      return true
    },
  }
}

/** Of an organization all slow targets together, and of all organizations. */
const slowLanes = (orgId: string, inFlightMax: number): Lane[] => [
  [`slow ${orgId}`, Math.max(1, Math.floor(shareOf(inFlightMax) * LANES.slow))],
  ['slow', shareOf(inFlightMax)],
]

/** An attempt that has had no answer for so long makes its target a slow one, before it is given up. */
const isOverdue = (since: number, now: number): boolean => now - since >= LANES.slowMs

const shareOf = (inFlightMax: number): number => Math.max(1, Math.floor(inFlightMax * LANES.share))

type Held = {
  /** Claimed, and not started yet. */
  readonly ready: readonly Laned[]
  readonly inFlight: InFlight
}

/**
 * What a process may still claim, by what it holds already: so many of an organization's channel, and of a shared server,
 * that wait for a slot. Of slow targets no more than may be in flight. What cannot start before something that hangs is
 * over counts for nothing: it must not keep the others from being claimed.
 */
export function capacityToClaim({ ready, inFlight }: Held, inFlightMax: number, now: number): ClaimCapacity {
  const counts = new Map<string, number>()
  const count = (lane: string) => counts.get(lane) ?? 0
  const isFull = ([lane, max]: Lane) => count(lane) >= max
  const add = (lanes: readonly string[]): void => {
    for (const lane of lanes) counts.set(lane, count(lane) + 1)
  }
  const slowOf = ({ orgId }: Laned) => slowLanes(orgId, inFlightMax)
  const namesOf = (lanes: readonly Lane[]) => lanes.map(([lane]) => lane)
  const targetOf = ({ orgId, target }: Laned) => `target ${orgId} ${target}`
  const held = new Set([...inFlight.keys(), ...ready].map(targetOf))
  for (const [message, since] of inFlight) {
    const { orgId, health, channel } = message
    add([targetOf(message), `organization ${orgId}`])
    if (isOverdue(since, now)) add([`overdue ${orgId}`, `overdue ${targetOf(message)}`])
    if (health === 'slow' || isOverdue(since, now)) add(namesOf(slowOf(message)))
    if (CHANNELS[channel].sharedServer) add(namesOf(claimLanesOf(message)))
  }
  const isBusy = (message: Laned) => count(targetOf(message)) >= LANES.perTarget
  const hangs = (message: Laned) =>
    (isBusy(message) && count(`overdue ${targetOf(message)}`) > 0) ||
    (message.health !== 'healthy' &&
      count(`overdue ${message.orgId}`) > 0 &&
      count(`organization ${message.orgId}`) >= shareOf(inFlightMax))
  const full = new Set<string>()
  let waiting = 0
  for (const message of ready) {
    if (message.health === 'slow') add(namesOf(slowOf(message)))
    else if (!isBusy(message) && !hangs(message)) {
      waiting++
      add(namesOf(claimLanesOf(message)))
    }
  }
  for (const message of [...ready, ...inFlight.keys()])
    for (const lane of claimLanesOf(message)) if (isFull(lane)) full.add(lane[0])
  return {
    full: [...full],
    hasRoom: waiting < CLAIM.rows,
    hangs,
    take(message) {
      const isSlow = message.health === 'slow'
      const lanes = isSlow ? slowOf(message) : claimLanesOf(message)
      if (hangs(message)) return 'hangs'
      if (isBusy(message)) return 'wait'
      if (lanes.some(isFull)) return isSlow ? 'hangs' : 'later'
      add(namesOf(lanes))
      return 'go'
    },
    takeProbe(message) {
      const lanes = slowOf(message)
      if (held.has(targetOf(message)) || lanes.some(isFull)) return 'hangs'
      held.add(targetOf(message))
      add(namesOf(lanes))
      return 'go'
    },
  }
}

/** Of a server that all share an organization has a share: with thousands of one there is still room for the others'. */
const claimLanesOf = ({ orgId, channel }: Laned): Lane[] =>
  CHANNELS[channel].sharedServer
    ? [
        [`${orgId} ${channel}`, CLAIM.perLane * LANES.share],
        [channel, CLAIM.perLane],
      ]
    : [[`${orgId} ${channel}`, CLAIM.perLane]]
