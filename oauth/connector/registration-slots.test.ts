import { describe, expect, test } from 'vitest'
import { DYNAMIC_CLIENTS, DYNAMIC_CLIENT_UNUSED_SECONDS } from '../../src/contracts/limits.ts'
import { chooseEvictions, type Slot } from './registration-slots.ts'

const NOW = new Date('2026-11-15T12:00:00Z')
const DAY = 24 * 60 * 60
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
const UNUSED = DYNAMIC_CLIENT_UNUSED_SECONDS

let made = 0
/** Old enough and without a grant, from an address and for an origin of its own. */
function slot(over: Partial<Slot> = {}): Slot {
  made += 1
  return {
    clientId: `client-${made}`,
    originKey: `https://app-${made}.example`,
    registeredFrom: `192.0.2.${made}`,
    createdAt: at(-DAY),
    expiresAt: at(29 * DAY),
    grantsUntil: null,
    ...over,
  }
}
const slots = (count: number, over: (i: number) => Partial<Slot> = () => ({})) =>
  Array.from({ length: count }, (_, i) => slot(over(i)))
const granted = { grantsUntil: at(300 * DAY) }
const newcomer = { originKey: 'https://new.example', registeredFrom: '2001:db8:1:100::/64' }
/** Of the newcomer's /56, and of its /48 beyond that, in a /64 each. */
const inBlock = (i: number) => ({
  registeredFrom: `2001:db8:1:1${(i + 1).toString(16).padStart(2, '0')}::/64`,
})
const inSite = (i: number) => ({ registeredFrom: `2001:db8:1:${(i + 2).toString(16)}00::/64` })
const evictions = (all: readonly Slot[]) => chooseEvictions(all, newcomer, NOW)

describe('below the limits nobody gives way', () => {
  test.each([
    ['no registration', []],
    ['99', slots(DYNAMIC_CLIENTS.active - 1)],
    ['4 of the origin', slots(DYNAMIC_CLIENTS.perOrigin - 1, () => ({ originKey: newcomer.originKey }))],
    [
      '19 of the address',
      slots(DYNAMIC_CLIENTS.perAddress - 1, () => ({ registeredFrom: newcomer.registeredFrom })),
    ],
    ['29 of the /56', slots(DYNAMIC_CLIENTS.perBlock - 1, (i) => inBlock(i))],
    ['39 of the /48', slots(DYNAMIC_CLIENTS.perSite - 1, (i) => inSite(i))],
  ])('%s', (_what, all) => expect(evictions(all)).toEqual({ evicted: [] }))
})

describe('who gives way', () => {
  test('the oldest of the origin, never one with a live grant or younger than ten minutes', () => {
    const mine = (over: Partial<Slot>) => slot({ originKey: newcomer.originKey, ...over })
    const [used, old, older] = [
      mine({ ...granted, createdAt: at(-20 * DAY) }),
      mine({ createdAt: at(-UNUSED) }),
      mine({ createdAt: at(-UNUSED - 1) }),
    ]
    const young = [mine({ createdAt: at(-UNUSED + 1) }), mine({ createdAt: at(0) })]
    const unrelated = slot({ createdAt: at(-29 * DAY) })
    expect(evictions([unrelated, used, old, ...young, older])).toEqual({ evicted: [older.clientId] })
    expect(evictions([unrelated, used, old, ...young, mine(granted)])).toEqual({ evicted: [old.clientId] })
  })

  test('of all, first one of the busiest address, however old the others are', () => {
    const flood = slots(60, (i) => ({ registeredFrom: '203.0.113.9', createdAt: at(-UNUSED - 60 + i) }))
    const others = slots(40, () => ({ createdAt: at(-20 * DAY) }))
    expect(evictions([...others, ...flood])).toEqual({ evicted: [flood[0]!.clientId] })
  })

  test('where the busiest address has only live grants, one of the next', () => {
    const busiest = slots(60, () => ({ registeredFrom: '203.0.113.9', ...granted }))
    const next = slots(2, () => ({ registeredFrom: '203.0.113.10' }))
    const others = slots(38, () => ({ createdAt: at(-20 * DAY) }))
    expect(evictions([...others, ...busiest, ...next])).toEqual({ evicted: [next[0]!.clientId] })
  })

  const young = { createdAt: at(0) }

  test('of all, one of the network with the most unapproved ones at once, however young', () => {
    const flood = slots(60, (i) => ({ registeredFrom: '203.0.113.9', createdAt: at(i - 60) }))
    const others = slots(40, () => young)
    expect(evictions([...others, ...flood])).toEqual({ evicted: [flood[0]!.clientId] })
    const approved = slots(59, () => ({ registeredFrom: '203.0.113.9', ...granted }))
    const two = slots(2, () => ({ registeredFrom: '203.0.113.10', ...young }))
    expect(evictions([...approved, ...two, ...others.slice(1)])).toEqual({ evicted: [two[0]!.clientId] })
  })

  test('many networks of one /48 are one that has most', () => {
    const flood = slots(30, (i) => ({ registeredFrom: `2001:db8:2:${i}::/64`, ...young }))
    const others = slots(70, () => young)
    expect(evictions([...others, ...flood])).toEqual({ evicted: [flood[0]!.clientId] })
  })

  test('of an origin, one of the network that took it', () => {
    const taken = slots(DYNAMIC_CLIENTS.perOrigin, () => ({
      originKey: newcomer.originKey,
      registeredFrom: '203.0.113.9',
      ...young,
    }))
    expect(evictions(taken)).toEqual({ evicted: [taken[0]!.clientId] })
  })

  test('where nobody has more than the newcomer would, none before it is ten minutes old', () => {
    const each = slots(DYNAMIC_CLIENTS.active, () => young)
    expect(evictions(each)).toEqual({
      problem: 'the server has 100 active registrations',
      retryAfterSeconds: UNUSED,
    })
    const own = slots(DYNAMIC_CLIENTS.perAddress, () => ({
      registeredFrom: newcomer.registeredFrom,
      ...young,
    }))
    expect(evictions(own)).toMatchObject({ retryAfterSeconds: UNUSED })
  })

  test.each([
    ['/56', DYNAMIC_CLIENTS.perBlock, inBlock],
    ['/48', DYNAMIC_CLIENTS.perSite, inSite],
  ])('of a %s that has all it may, the /64 with the most, or else nobody yet', (size, max, within) => {
    const each = slots(max, (i) => ({ ...within(i), ...young }))
    expect(evictions(each)).toEqual({
      problem: `this ${size} has ${max} active registrations`,
      retryAfterSeconds: UNUSED,
    })
    const two = slots(max, (i) => ({ ...within(Math.min(i, max - 2)), ...young }))
    expect(evictions(two)).toEqual({ evicted: [two[max - 2]!.clientId] })
  })

  test('one for the origin and one for the address, where no single one serves both', () => {
    const ofOrigin = slots(DYNAMIC_CLIENTS.perOrigin, () => ({ originKey: newcomer.originKey }))
    const ofAddress = slots(DYNAMIC_CLIENTS.perAddress, () => ({ registeredFrom: newcomer.registeredFrom }))
    expect(evictions([...ofOrigin, ...ofAddress])).toEqual({
      evicted: [ofOrigin[0]!.clientId, ofAddress[0]!.clientId],
    })
    const both = { ...newcomer }
    const shared = [
      ...slots(DYNAMIC_CLIENTS.perOrigin, () => both),
      ...slots(DYNAMIC_CLIENTS.perAddress - DYNAMIC_CLIENTS.perOrigin, () => ({
        registeredFrom: newcomer.registeredFrom,
      })),
    ]
    expect(evictions(shared)).toEqual({ evicted: [shared[0]!.clientId] })
  })

  test('as many as it takes, where there are more than the limit', () => {
    const all = slots(DYNAMIC_CLIENTS.active + 2, (i) => ({ createdAt: at(-DAY + i) }))
    expect(evictions(all)).toEqual({ evicted: all.slice(0, 3).map(({ clientId }) => clientId) })
  })
})

describe('nobody can: Retry-After is when somebody will', () => {
  const ofOrigin = (over: (i: number) => Partial<Slot>) =>
    slots(DYNAMIC_CLIENTS.perOrigin, (i) => ({ originKey: newcomer.originKey, ...granted, ...over(i) }))

  test.each([
    ['the first without a grant is ten minutes old', 30, { grantsUntil: null, createdAt: at(30 - UNUSED) }],
    ['the first expires', 3 * DAY, { expiresAt: at(3 * DAY) }],
    ['the last grant of one ends', 7, { grantsUntil: at(7) }],
    ['one expires before it is ten minutes old', 5, { createdAt: at(0), expiresAt: at(5) }],
    ['less than a second is left', 1, { grantsUntil: at(0.2) }],
  ])('%s', (_what, retryAfterSeconds, over) => {
    expect(evictions(ofOrigin((i) => (i === 3 ? over : {})))).toEqual({
      problem: 'this origin has 5 active registrations',
      retryAfterSeconds,
    })
  })

  test('the longest of several limits, because all of them must have a free slot', () => {
    const all = [
      ...ofOrigin((i) => (i === 0 ? { grantsUntil: at(10) } : {})),
      ...slots(DYNAMIC_CLIENTS.perAddress, (i) => ({
        registeredFrom: newcomer.registeredFrom,
        ...granted,
        ...(i === 0 && { grantsUntil: at(500) }),
      })),
    ]
    expect(evictions(all)).toEqual({
      problem: 'this address has 20 active registrations',
      retryAfterSeconds: 500,
    })
  })
})
