import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RESOURCE_SCOPES, type Scope } from '../../contracts/scopes.ts'
import { isLess, usedSince, type GrantUse, type Rights } from './grant-uses.ts'
import { announcedEnds, unusedStep } from './unused-step.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const day = (n: number): Date => new Date(Date.UTC(2026, 0, 1) + n * DAY_MS)
const SCOPES: readonly Scope[] = RESOURCE_SCOPES.platform
const SOURCES = ['ds_a', 'ds_b', 'ds_c', 'ds_d']

const use = (scope: Scope, sourceId: string, at: Date): GrantUse => ({
  orgId: 'org_1',
  grantId: 'grt_1',
  scope,
  sourceId,
  calls: 1,
  lastUsedAt: at,
})

/** What an agent does on a day: a scope, and for questions a source. */
const Call = fc.oneof(
  fc.record({ scope: fc.constant<Scope>('data:read'), source: fc.constantFrom(...SOURCES) }),
  fc.record({ scope: fc.constantFrom(...SCOPES), source: fc.constant('') }),
)
type Call = { scope: Scope; source: string }

/** Told apart from what is tested: whether somebody with these rights may make the call. */
const mayCall = ({ scopes, sources }: Rights, { scope, source }: Call): boolean =>
  scopes.includes(scope) && (source === '' || sources === null || sources.includes(source))

const World = fc.record({
  sources: fc.option(fc.subarray(SOURCES), { nil: null }),
  after: fc.integer({ min: 14, max: 40 }),
  days: fc.array(fc.array(Call, { maxLength: 3 }), { minLength: 90, maxLength: 90 }),
  /** Days on which no worker ran. */
  idle: fc.uniqueArray(fc.integer({ min: 0, max: 89 }), { maxLength: 60 }),
})

type Generated = typeof World extends fc.Arbitrary<infer One> ? One : never

type Lived = {
  readonly rights: Rights
  readonly told: readonly number[]
  readonly narrowed: readonly { readonly on: number; readonly before: Rights; readonly after: Rights }[]
  readonly lastUse: ReadonlyMap<string, number>
}

function live({ sources, after, days, idle }: Generated): Lived {
  const uses = new Map<string, GrantUse>()
  const lastUse = new Map<string, number>()
  const [told, narrowed]: [number[], Lived['narrowed'][number][]] = [[], []]
  let rights: Rights = { scopes: [...SCOPES], sources }
  let narrowingToldAt: Date | null = null
  days.forEach((calls, today) => {
    for (const call of calls.filter((one) => mayCall(rights, one))) {
      uses.set(`${call.scope} ${call.source}`, use(call.scope, call.source, day(today)))
      lastUse.set(`${call.scope} ${call.source}`, today)
    }
    if (idle.includes(today)) return
    const grant = {
      ...rights,
      createdAt: day(0),
      lastUsedAt: null,
      usesSince: day(0),
      narrowingToldAt,
      endingToldAt: null,
    }
    const settings = { narrowUnusedAfterDays: after, endUnusedAfterDays: null }
    const step = unusedStep(grant, [...uses.values()], settings, day(today))
    if (step?.do === 'tell_narrowing') {
      told.push(today)
      narrowingToldAt = day(today)
    }
    if (step?.do === 'narrow') {
      narrowed.push({ on: today, before: rights, after: step.left })
      rights = step.left
      narrowingToldAt = null
    }
  })
  return { rights, told, narrowed, lastUse }
}

const callOf = (key: string): Call => {
  const [scope, source] = key.split(' ')
  return { scope: scope as Scope, source: source! }
}

describe('ninety generated days', () => {
  test('whatever was called within the window can still be called, after every narrowing', () => {
    fc.assert(
      fc.property(World, (world) => {
        for (const { on, after } of live(world).narrowed) {
          const upToThen = live({ ...world, days: world.days.slice(0, on + 1) }).lastUse
          for (const [key, last] of upToThen)
            if (last > on - world.after) expect(mayCall(after, callOf(key))).toBe(true)
        }
      }),
    )
  })

  test('it never has more than before, and nothing is taken that nobody was told of a week ago', () => {
    fc.assert(
      fc.property(World, (world) => {
        const { told, narrowed } = live(world)
        for (const { on, before, after } of narrowed) {
          expect(isLess(after, before)).toBe(true)
          expect(after.scopes.every((scope) => before.scopes.includes(scope))).toBe(true)
          expect(before.sources === null || after.sources!.every((id) => before.sources!.includes(id))).toBe(
            true,
          )
          const notice = told.filter((one) => one < on).at(-1)
          expect(notice).toBeLessThanOrEqual(on - 7)
          expect(notice).toBeGreaterThan(on - 14)
        }
      }),
    )
  })

  test('what was not called for the window and three weeks is gone, if anything was called', () => {
    const steady = World.map((world) => ({
      ...world,
      idle: [],
      // A scope is used every day, so that something is left.
      days: world.days.map((calls) => [...calls, { scope: 'maintenance:read' as const, source: '' }]),
    }))
    fc.assert(
      fc.property(steady, (world) => {
        const { rights, lastUse } = live(world)
        const isUsed = (key: string) => (lastUse.get(key) ?? -1) > 89 - world.after - 21
        for (const scope of SCOPES) {
          const ofScope = [...lastUse.keys(), `${scope} `].filter((key) => key.startsWith(`${scope} `))
          if (!ofScope.some(isUsed)) expect(rights.scopes).not.toContain(scope)
        }
        for (const source of SOURCES)
          if (!isUsed(`data:read ${source}`))
            expect(mayCall(rights, { scope: 'data:read', source })).toBe(false)
      }),
    )
  })
})

const unjudged = {
  createdAt: day(0),
  lastUsedAt: null,
  usesSince: day(0),
  narrowingToldAt: null,
  endingToldAt: null,
}
const narrowOnly = { narrowUnusedAfterDays: 30, endUnusedAfterDays: null }
const endOnly = { narrowUnusedAfterDays: null, endUnusedAfterDays: 30 }
const grant = { ...unjudged, scopes: [...SCOPES], sources: null }
const read = (at: Date) => [use('data:read', 'ds_a', at)]

test('a grant that is counted for less than the window is not judged', () => {
  const young = { ...grant, usesSince: day(10) }
  expect(unusedStep(young, read(day(32)), narrowOnly, day(32))).toBeUndefined()
  expect(unusedStep(young, read(day(33)), narrowOnly, day(33))).toEqual({ do: 'tell_narrowing' })
})

test('one that used nothing is not narrowed, since nothing would be left; it ends, where it is to', () => {
  expect(unusedStep(grant, [], narrowOnly, day(80))).toBeUndefined()
  expect(unusedStep(grant, [], endOnly, day(22))).toBeUndefined()
  expect(unusedStep(grant, [], endOnly, day(23))).toEqual({ do: 'tell_ending' })
  const told = { ...grant, endingToldAt: day(23) }
  expect(unusedStep(told, [], endOnly, day(29))).toBeUndefined()
  expect(unusedStep(told, [], endOnly, day(30))).toEqual({ do: 'end' })
})

test('used after they were told, it does not end; unused again, they are told again', () => {
  const told = { ...grant, endingToldAt: day(23), lastUsedAt: day(24) }
  expect(unusedStep(told, [], endOnly, day(31))).toBeUndefined()
  expect(unusedStep(told, [], endOnly, day(47))).toEqual({ do: 'tell_ending' })
})

test('what they were told of long ago counts for nothing', () => {
  const told = { ...grant, endingToldAt: day(23), narrowingToldAt: day(23) }
  expect(unusedStep(told, [], endOnly, day(60))).toEqual({ do: 'tell_ending' })
  expect(unusedStep(told, read(day(60)), narrowOnly, day(60))).toEqual({ do: 'tell_narrowing' })
})

test('what is announced is what comes to pass: not when it is off, old, or used since', () => {
  const told = { ...grant, endingToldAt: day(23), narrowingToldAt: day(23) }
  const both = { narrowUnusedAfterDays: 30, endUnusedAfterDays: 30 }
  const [off, none] = [
    { narrowUnusedAfterDays: null, endUnusedAfterDays: null },
    { narrowsOn: null, endsOn: null },
  ]
  const on = { narrowsOn: day(30), endsOn: day(30) }
  expect(announcedEnds(told, read(day(22)), both, day(24))).toEqual(on)
  expect(announcedEnds(told, read(day(22)), both, day(36))).toEqual(on)
  expect(announcedEnds(told, read(day(22)), both, day(37))).toEqual(none)
  expect(announcedEnds(told, read(day(22)), off, day(24))).toEqual(none)
  expect(announcedEnds(grant, read(day(22)), both, day(24))).toEqual(none)
  const used = { ...told, lastUsedAt: day(24) }
  expect(announcedEnds(used, read(day(24)), both, day(25)).endsOn).toBeNull()
  const limited = { ...told, scopes: ['data:read' as const], sources: ['ds_a'] }
  expect(announcedEnds(limited, read(day(24)), both, day(25)).narrowsOn).toBeNull()
})

test('off is off', () => {
  const off = { narrowUnusedAfterDays: null, endUnusedAfterDays: null }
  expect(unusedStep({ ...grant, endingToldAt: day(50) }, [], off, day(60))).toBeUndefined()
})

test('of a grant without data:read the sources stay as they are', () => {
  const rights: Rights = { scopes: ['maintenance:read', 'maintenance:run'], sources: ['ds_a'] }
  const left = usedSince(rights, [use('maintenance:read', '', day(9))], day(1))
  expect(left).toEqual({ scopes: ['maintenance:read'], sources: ['ds_a'] })
})
