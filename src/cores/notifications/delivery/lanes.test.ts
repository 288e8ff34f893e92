import { expect, test } from 'vitest'
import type { Channel } from '../../../contracts/channels.ts'
import { capacityToClaim } from './lanes.ts'

const held = (orgId: string, channel: Channel, count: number, isProbe = false) =>
  Array.from({ length: count }, (_, n) => ({ orgId, channel, target: `target_${n}`, isProbe }))
const takenOf = (take: () => boolean) => {
  let n = 0
  while (take()) n++
  return n
}

test('of a server that all share an organization claims a quarter, and leaves the rest to the others', () => {
  const room = capacityToClaim([], 32)
  expect(takenOf(() => room.take('org_1', 'email'))).toBe(8)
  expect(takenOf(() => room.take('org_2', 'email'))).toBe(8)
  // Its own receivers are its own to fill.
  expect(takenOf(() => room.take('org_1', 'webhook'))).toBe(32)
  const later = capacityToClaim([...held('org_1', 'email', 8), ...held('org_2', 'email', 3)], 32)
  expect(later.full).toEqual(['org_1 email'])
  expect([later.take('org_1', 'email'), later.take('org_2', 'email')]).toEqual([false, true])
  const all = capacityToClaim(
    ['org_1', 'org_2', 'org_3', 'org_4'].flatMap((org) => held(org, 'email', 8)),
    32,
  )
  expect([all.full.includes('email'), all.take('org_5', 'email')]).toEqual([true, false])
})

test('probes are claimed up to the share that may be in flight, and one of each target', () => {
  const room = capacityToClaim(held('org_1', 'webhook', 6, true), 32)
  expect(room.takeProbe('org_1', 'webhook', 'target_0')).toBe(false)
  let n = 0
  expect(takenOf(() => room.takeProbe('org_2', 'webhook', `target_${n++}`))).toBe(2)
  expect(room.take('org_3', 'webhook')).toBe(true)
})
