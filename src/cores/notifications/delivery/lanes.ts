/**
 * Lanes: what one organization, one target, one server that all share, and all probes together may have in flight in this
 * process, so that whoever hangs there takes no slot from the others. Targets are counted in their rows as well, for all
 * workers; here it only saves asking.
 */
import { CHANNELS, type Channel } from '../../../contracts/channels.ts'
import { CLAIM, LANES } from '../../../contracts/limits.ts'
import type { ClaimCapacity } from './claim-messages.ts'
import type { PreparedMessage } from './prepare-messages.ts'

type Laned = Pick<PreparedMessage, 'orgId' | 'target' | 'channel' | 'isProbe'>

export type Lanes = {
  /** False: one of its lanes is full. */
  enter(message: Laned): boolean
  /** Also where a lane is full: it is on its way already. */
  occupy(message: Laned): void
  leave(message: Laned): void
}

export function createLanes(inFlightMax: number): Lanes {
  const share = shareOf(inFlightMax)
  const counts = new Map<string, number>()
  const lanesOf = ({ orgId, target, channel, isProbe }: Laned): (readonly [lane: string, max: number])[] => [
    [`organization ${orgId}`, share],
    [`target ${orgId} ${target}`, LANES.perTarget],
    ...(CHANNELS[channel].sharedServer
      ? [
          [`channel ${channel}`, share] as const,
          // When it hangs, the organization's other messages still have slots.
          [`shared servers ${orgId}`, Math.max(1, Math.floor(share / 2))] as const,
        ]
      : []),
    ...(isProbe ? [['probes', share] as const] : []),
  ]
  const occupy = (message: Laned): void => {
    for (const [lane] of lanesOf(message)) counts.set(lane, (counts.get(lane) ?? 0) + 1)
  }
  return {
    occupy,
    enter(message) {
      if (lanesOf(message).some(([lane, max]) => (counts.get(lane) ?? 0) >= max)) return false
      occupy(message)
      return true
    },
    leave(message) {
      for (const [lane] of lanesOf(message)) {
        const left = counts.get(lane)! - 1
        if (left === 0) counts.delete(lane)
        else counts.set(lane, left)
      }
    },
  }
}

/**
 * What a process may still claim, by what it holds already: so many of an organization's channel, of a shared server, and
 * of probes. Of those no more than may be in flight: whatever waits here for its lane keeps the others from being claimed.
 */
export function capacityToClaim(
  held: Iterable<Pick<Laned, 'orgId' | 'channel' | 'target' | 'isProbe'>>,
  inFlightMax: number,
): ClaimCapacity {
  const counts = new Map<string, number>()
  const targets = new Set<string>()
  const probesMax = shareOf(inFlightMax)
  let probes = 0
  const add = (lanes: readonly ClaimLane[]): void => {
    for (const [lane] of lanes) counts.set(lane, (counts.get(lane) ?? 0) + 1)
  }
  const isFull = ([lane, max]: ClaimLane): boolean => (counts.get(lane) ?? 0) >= max
  const full = new Set<string>()
  for (const { orgId, channel, target, isProbe } of held) {
    const lanes = claimLanesOf(orgId, channel)
    add(lanes)
    for (const lane of lanes) if (isFull(lane)) full.add(lane[0])
    targets.add(`${orgId} ${target}`)
    if (isProbe) probes++
  }
  const take = (orgId: string, channel: Channel): boolean => {
    const lanes = claimLanesOf(orgId, channel)
    if (lanes.some(isFull)) return false
    add(lanes)
    return true
  }
  return {
    full: [...full],
    take,
    takeProbe(orgId, channel, target) {
      if (probes >= probesMax || targets.has(`${orgId} ${target}`) || !take(orgId, channel)) return false
      probes++
      return true
    },
  }
}

type ClaimLane = readonly [lane: string, max: number]

/** Of a server that all share an organization has a share: with thousands of one there is still room for the others'. */
const claimLanesOf = (orgId: string, channel: Channel): ClaimLane[] =>
  CHANNELS[channel].sharedServer
    ? [
        [`${orgId} ${channel}`, CLAIM.perLane * LANES.share],
        [channel, CLAIM.perLane],
      ]
    : [[`${orgId} ${channel}`, CLAIM.perLane]]

const shareOf = (inFlightMax: number): number => Math.max(1, Math.floor(inFlightMax * LANES.share))
