import { describe, expect, test } from 'vitest'
import type { Channel } from '../../../contracts/channels.ts'
import { LANES } from '../../../contracts/limits.ts'
import { capacityToClaim, createLanes } from './lanes.ts'

const held = (orgId: string, channel: Channel, count: number, isProbe = false) =>
  Array.from({ length: count }, (_, n) => ({ orgId, channel, target: `target_${n}`, isProbe }))
const takenOf = (take: () => boolean) => {
  let n = 0
  while (n < 100 && take()) n++
  return n
}

describe('in flight', () => {
  const webhook = (orgId: string, target: string, isProbe = false) =>
    ({ orgId, target, channel: 'webhook', isProbe }) as const
  const email = (orgId: string, target: string) =>
    ({ orgId, target, channel: 'email', isProbe: false }) as const
  /** Each to a target of its own. */
  const targets = () => {
    let n = 0
    return () => `target_${n++}`
  }

  test('an organization has a quarter, and takes nothing from another', () => {
    const lanes = createLanes(32)
    const next = targets()
    for (const org of ['org_1', 'org_2']) expect(takenOf(() => lanes.enter(webhook(org, next())))).toBe(8)
    expect(lanes.enter(webhook('org_1', next()))).toBe(false)
  })

  test('a target has its own few, also where another organization calls its own so', () => {
    const lanes = createLanes(32)
    for (const org of ['org_1', 'org_2']) {
      expect(takenOf(() => lanes.enter(webhook(org, 'the_same')))).toBe(LANES.perTarget)
    }
    expect(lanes.enter(webhook('org_1', 'another'))).toBe(true)
  })

  test('of a server that all share, all together have a quarter, and an organization half of its own', () => {
    const lanes = createLanes(32)
    const next = targets()
    expect(takenOf(() => lanes.enter(email('org_1', next())))).toBe(4)
    // Its other messages still have slots.
    expect(takenOf(() => lanes.enter(webhook('org_1', next())))).toBe(4)
    expect(takenOf(() => lanes.enter(email('org_2', next())))).toBe(4)
    expect(lanes.enter(email('org_3', next()))).toBe(false)
    expect(lanes.enter(webhook('org_3', next()))).toBe(true)
  })

  test('probes of all organizations together have a quarter; what is no probe has its own', () => {
    const lanes = createLanes(32)
    const next = targets()
    const probes = ['org_1', 'org_2', 'org_3'].map((org) =>
      takenOf(() => lanes.enter(webhook(org, next(), true))),
    )
    expect(probes).toEqual([8, 0, 0])
    expect(lanes.enter(webhook('org_2', next()))).toBe(true)
  })

  test('whatever leaves makes room for one, and for no more', () => {
    const lanes = createLanes(32)
    const message = webhook('org_1', 'target')
    const fill = () => takenOf(() => lanes.enter(message))
    fill()
    lanes.leave(message)
    expect(fill()).toBe(1)
    for (let n = 0; n < LANES.perTarget; n++) lanes.leave(message)
    expect(fill()).toBe(LANES.perTarget)
  })

  test('what is on its way already counts, also where there was no room for it', () => {
    const lanes = createLanes(32)
    const message = webhook('org_1', 'target')
    for (let n = 0; n <= LANES.perTarget; n++) lanes.occupy(message)
    lanes.leave(message)
    expect(lanes.enter(message)).toBe(false)
    lanes.leave(message)
    expect(lanes.enter(message)).toBe(true)
  })

  test('a refused one occupies none of its lanes', () => {
    const lanes = createLanes(32)
    takenOf(() => lanes.enter(webhook('org_1', 'full')))
    for (let n = 0; n < 20; n++) lanes.enter(webhook('org_1', 'full'))
    const next = targets()
    expect(takenOf(() => lanes.enter(webhook('org_1', next())))).toBe(8 - LANES.perTarget)
  })

  test('where next to nothing may be in flight, everybody has one', () => {
    const lanes = createLanes(1)
    expect(lanes.enter(email('org_1', 'a'))).toBe(true)
    expect([lanes.enter(email('org_1', 'b')), lanes.enter(email('org_2', 'c'))]).toEqual([false, false])
    expect(lanes.enter(webhook('org_2', 'd'))).toBe(true)
  })
})

describe('to be claimed', () => {
  test('of a server that all share an organization claims a quarter, and leaves the rest to the others', () => {
    const room = capacityToClaim([], 32)
    expect(takenOf(() => room.take('org_1', 'email'))).toBe(8)
    expect(takenOf(() => room.take('org_2', 'email'))).toBe(8)
    // Its own receivers are its own to fill.
    expect(takenOf(() => room.take('org_1', 'webhook'))).toBe(32)
    expect(takenOf(() => room.take('org_2', 'webhook'))).toBe(32)
    const later = capacityToClaim([...held('org_1', 'email', 8), ...held('org_2', 'email', 3)], 32)
    expect(later.full).toEqual(['org_1 email'])
    expect([later.take('org_1', 'email'), later.take('org_2', 'email')]).toEqual([false, true])
    const all = capacityToClaim(
      ['org_1', 'org_2', 'org_3', 'org_4'].flatMap((org) => held(org, 'email', 8)),
      32,
    )
    expect([all.full.includes('email'), all.take('org_5', 'email')]).toEqual([true, false])
    expect(capacityToClaim(held('org_1', 'webhook', 31), 32).full).toEqual([])
  })

  test('probes are claimed up to the share that may be in flight, and one of each target', () => {
    const room = capacityToClaim(held('org_1', 'webhook', 6, true), 32)
    expect(room.takeProbe('org_1', 'webhook', 'target_0')).toBe(false)
    let n = 0
    expect(takenOf(() => room.takeProbe('org_2', 'webhook', `target_${n++}`))).toBe(2)
    expect(room.take('org_3', 'webhook')).toBe(true)
  })

  test('a probe needs room of its channel, too, and what is no probe takes no place of one', () => {
    const full = capacityToClaim(held('org_1', 'webhook', 32), 32)
    expect(full.takeProbe('org_1', 'webhook', 'target_99')).toBe(false)
    // Where another organization has a target of that name, this one may still be asked.
    expect(full.takeProbe('org_2', 'webhook', 'target_0')).toBe(true)
    // What was refused above took no place.
    let n = 0
    expect(takenOf(() => full.takeProbe('org_2', 'webhook', `other_${n++}`))).toBe(7)
  })
})
