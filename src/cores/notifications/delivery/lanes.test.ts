import { describe, expect, test } from 'vitest'
import type { Channel } from '../../../contracts/channels.ts'
import { inFlightMaxOf, INTEGRATIONS_MAX, LANES } from '../../../contracts/limits.ts'
import type { TargetHealth } from './claim-messages.ts'
import { capacityToClaim, openLanes, type Laned } from './lanes.ts'

const NOW = 1_000_000
const LONG_AGO = NOW - LANES.slowMs

const to = (
  orgId: string,
  target: string,
  health: TargetHealth = 'healthy',
  channel: Channel = 'webhook',
): Laned => ({ orgId, target, channel, health })

/** So many, each to a target of its own. */
const some = (count: number, orgId: string, health?: TargetHealth, channel?: Channel) =>
  Array.from({ length: count }, (_, n) => to(orgId, `${health} ${channel} ${n}`, health, channel))
const since = (at: number, messages: readonly Laned[]) =>
  new Map(messages.map((message) => [message, at] as const))
const startedOf = (take: () => boolean) => {
  let n = 0
  while (n < 100 && take()) n++
  return n
}

describe('in flight', () => {
  const lanesOf = (inFlight: ReadonlyMap<Laned, number> = new Map(), inFlightMax = 32) => {
    const lanes = openLanes(inFlight, { inFlightMax, occupied: inFlight.size, now: NOW })
    let n = 0
    return {
      enter: (message: Laned, borrows = false) => lanes.enter(message, { borrows }),
      /** How many of them get a slot, each to a target of its own. */
      fill: (orgId: string, health: TargetHealth, borrows = false, channel: Channel = 'webhook') =>
        startedOf(() => lanes.enter(to(orgId, `new ${n++}`, health, channel), { borrows })),
    }
  }

  test('an organization has a quarter, and takes nothing from another', () => {
    const lanes = lanesOf()
    for (const org of ['org_1', 'org_2']) expect(lanes.fill(org, 'healthy')).toBe(8)
    expect(lanes.fill('org_1', 'unproven')).toBe(0)
  })

  test('idle slots are lent to healthy targets alone, down to the last one', () => {
    const lanes = lanesOf()
    expect(lanes.fill('org_1', 'unproven', true)).toBe(8)
    expect(lanes.fill('org_1', 'healthy', true)).toBe(24)
    expect(lanes.fill('org_2', 'healthy', true)).toBe(0)
  })

  test('slow targets of an organization share a quarter of its slots, and a healthy one still finds one', () => {
    const lanes = lanesOf()
    expect(lanes.fill('org_1', 'slow', true)).toBe(2)
    expect(lanes.fill('org_1', 'healthy')).toBe(6)
    expect(lanes.fill('org_2', 'slow')).toBe(2)
  })

  test('however many organizations have slow ones, all of those together have a quarter', () => {
    const lanes = lanesOf()
    const orgs = Array.from({ length: 6 }, (_, n) => `org_${n}`)
    expect(orgs.map((org) => lanes.fill(org, 'slow'))).toEqual([2, 2, 2, 2, 0, 0])
    expect(lanes.fill('org_5', 'unproven')).toBe(8)
  })

  test('what has had no answer for a second counts as slow', () => {
    const hanging = some(2, 'org_1', 'healthy')
    expect(lanesOf(since(LONG_AGO + 1, hanging)).fill('org_1', 'slow')).toBe(2)
    expect(lanesOf(since(LONG_AGO, hanging)).fill('org_1', 'slow')).toBe(0)
    expect(lanesOf(since(LONG_AGO, hanging)).fill('org_2', 'slow')).toBe(2)
  })

  test('a target has its own few, also where another organization calls its own so', () => {
    const lanes = lanesOf()
    for (const org of ['org_1', 'org_2']) {
      expect(startedOf(() => lanes.enter(to(org, 'the_same'), true))).toBe(LANES.perTarget)
    }
    expect(lanes.enter(to('org_1', 'another'))).toBe(true)
  })

  test('of a server that all share, all together have a quarter, and an organization half of its own', () => {
    const lanes = lanesOf()
    expect(lanes.fill('org_1', 'healthy', true, 'email')).toBe(4)
    // Its other messages still have slots.
    expect(lanes.fill('org_1', 'healthy')).toBe(4)
    expect(lanes.fill('org_2', 'healthy', true, 'email')).toBe(4)
    expect(lanes.fill('org_3', 'healthy', true, 'email')).toBe(0)
    expect(lanes.enter(to('org_3', 'hook'))).toBe(true)
  })

  test('a refused one occupies none of its lanes', () => {
    const lanes = lanesOf()
    for (let n = 0; n < 20; n++) lanes.enter(to('org_1', 'full'))
    expect(lanes.fill('org_1', 'healthy')).toBe(8 - LANES.perTarget)
  })

  test('where next to nothing may be in flight, whoever comes first has it', () => {
    const lanes = lanesOf(new Map(), 1)
    expect(lanes.enter(to('org_1', 'a', 'slow', 'email'))).toBe(true)
    expect(lanes.enter(to('org_2', 'b'), true)).toBe(false)
  })
})

describe('to be claimed', () => {
  const capacityOf = (ready: readonly Laned[], inFlight: ReadonlyMap<Laned, number> = new Map()) =>
    capacityToClaim({ ready, inFlight }, 32, NOW)
  const taken = (
    room: ReturnType<typeof capacityOf>,
    orgId: string,
    health: TargetHealth,
    channel?: Channel,
  ) => {
    let n = 0
    return startedOf(() => room.take(to(orgId, `new ${n++}`, health, channel)) === 'go')
  }

  test('of a server that all share an organization claims a quarter, and leaves the rest to the others', () => {
    const room = capacityOf([])
    for (const org of ['org_1', 'org_2']) expect(taken(room, org, 'healthy', 'email')).toBe(8)
    // Its own receivers are its own to fill.
    for (const org of ['org_1', 'org_2']) expect(taken(room, org, 'unproven')).toBe(32)
    const later = capacityOf(
      some(8, 'org_1', 'healthy', 'email'),
      since(NOW, some(3, 'org_2', 'healthy', 'email')),
    )
    expect(later.full).toEqual(['org_1 email'])
    expect(['org_1', 'org_2'].map((org) => later.take(to(org, 'new', 'healthy', 'email')))).toEqual([
      'later',
      'go',
    ])
    const all = capacityOf(
      Array.from({ length: 4 }, (_, n) => some(8, `org_${n}`, 'healthy', 'email')).flat(),
    )
    expect([all.full.includes('email'), all.take(to('org_5', 'new', 'healthy', 'email'))]).toEqual([
      true,
      'later',
    ])
    expect(capacityOf(some(31, 'org_1')).full).toEqual([])
  })

  test('what is on its way needs no room: a hundred that hang keep nothing from being claimed', () => {
    const room = capacityOf([], since(LONG_AGO, some(100, 'org_1', 'unproven')))
    expect([room.full, room.hasRoom]).toEqual([[], true])
    expect(taken(room, 'org_1', 'healthy')).toBe(32)
  })

  test('what waits for a target with enough on its way is postponed, and counts for nothing', () => {
    const busy = to('org_1', 'busy')
    const inFlight = since(NOW, [busy, { ...busy }])
    const room = capacityOf(
      Array.from({ length: 200 }, () => busy),
      inFlight,
    )
    expect([room.take(busy), room.full, room.hasRoom]).toEqual(['wait', [], true])
    expect(taken(room, 'org_1', 'healthy')).toBe(32)
    expect(room.take({ ...busy, orgId: 'org_2' })).toBe('go')
    expect(capacityOf([], since(LONG_AGO, [busy, { ...busy }])).take(busy)).toBe('hangs')
    expect(capacityOf(some(200, 'org_1')).hasRoom).toBe(false)
  })

  test('what is unproven is postponed once the organization has enough on its way that hangs', () => {
    const unproven = to('org_1', 'new', 'unproven')
    const ready = some(32, 'org_1', 'unproven')
    const inFlight = some(8, 'org_1', 'healthy')
    expect(capacityOf(ready, since(LONG_AGO + 1, inFlight)).take(unproven)).toBe('later')
    const stuck = capacityOf(ready, since(LONG_AGO, inFlight))
    expect([stuck.take(unproven), stuck.full]).toEqual(['hangs', []])
    expect(taken(stuck, 'org_1', 'healthy')).toBe(32)
    expect(capacityOf(ready, since(LONG_AGO, inFlight.slice(1))).take(unproven)).toBe('later')
  })

  test('slow ones are claimed up to what may be in flight, and postponed beyond', () => {
    expect(taken(capacityOf(some(1, 'org_1', 'slow')), 'org_1', 'slow')).toBe(1)
    expect(capacityOf(some(2, 'org_1', 'slow')).take(to('org_1', 'new', 'slow'))).toBe('hangs')
    expect(capacityOf([], since(LONG_AGO, some(2, 'org_1'))).take(to('org_1', 'new', 'slow'))).toBe('hangs')
    expect(capacityOf(some(2, 'org_1', 'slow')).take(to('org_2', 'new', 'slow'))).toBe('go')
  })

  test('of a target that does not answer one is held at a time, started or not', () => {
    const room = capacityOf([to('org_1', 'ready')], since(NOW, [to('org_1', 'started')]))
    const probes = ['ready', 'started', 'new', 'new'].map((target) => room.takeProbe(to('org_1', target)))
    expect(probes).toEqual(['hangs', 'hangs', 'go', 'hangs'])
    // Where another organization has a target of that name, this one may still be asked.
    expect(room.takeProbe(to('org_2', 'ready'))).toBe('go')
    expect(['a', 'b'].map((target) => room.takeProbe(to('org_1', target)))).toEqual(['go', 'hangs'])
  })
})

test('in flight is what a process can hold: by its heap, within bounds', () => {
  const MIB = 1024 ** 2
  expect([64, 2_048, 4_096, 65_536].map((heap) => inFlightMaxOf(heap * MIB))).toEqual([
    256, 512, 1_024, 1_024,
  ])
  // All integrations of an organization may hang at once: somebody else still finds a slot.
  expect(inFlightMaxOf(0)).toBeGreaterThan(INTEGRATIONS_MAX * LANES.perTarget)
})
