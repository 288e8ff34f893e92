import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CHECK_RESULTS, type CheckResult } from '../../contracts/check-results.ts'
import { openWindowUntil } from './maintenance-window.ts'
import { NEW_STANDING, nextStanding, type Standing } from './next-standing.ts'

const INITIALS = { p: 'pass', f: 'fail', e: 'error', i: 'indeterminate' } as const

/** The last word of each event, where it happened; a dot where nothing did. */
function walk(results: string, failureThreshold = 3, successThreshold = 1) {
  let standing: Standing = NEW_STANDING
  const events = [...results].map((initial) => {
    const next = nextStanding(standing, INITIALS[initial as keyof typeof INITIALS], {
      failureThreshold,
      successThreshold,
    })
    standing = next.standing
    return next.event?.split('.').at(-1) ?? '.'
  })
  return { events: events.join(' '), state: standing.state }
}

/** interface.md, States and Events: one row for each way from state to state. */
const TRANSITIONS: readonly (readonly [results: string, events: string, state: CheckResult | null])[] = [
  // From nothing.
  ['p', '.', 'pass'],
  ['f', '.', null],
  ['ff', '. .', null],
  ['fff', '. . failed', 'fail'],
  ['e', 'error', 'error'],
  ['i', 'indeterminate', 'indeterminate'],
  // From pass.
  ['ppp', '. . .', 'pass'],
  ['pff', '. . .', 'pass'],
  ['pfff', '. . . failed', 'fail'],
  ['pe', '. error', 'error'],
  ['pi', '. indeterminate', 'indeterminate'],
  // From fail.
  ['ffffff', '. . failed . . .', 'fail'],
  ['fffp', '. . failed recovered', 'pass'],
  ['fffe', '. . failed error', 'error'],
  ['fffi', '. . failed indeterminate', 'indeterminate'],
  // From error: it was not failed, so nothing recovers.
  ['eee', 'error . .', 'error'],
  ['ep', 'error .', 'pass'],
  ['efff', 'error . . failed', 'fail'],
  ['ei', 'error indeterminate', 'indeterminate'],
  // From indeterminate.
  ['iii', 'indeterminate . .', 'indeterminate'],
  ['ip', 'indeterminate .', 'pass'],
  ['ifff', 'indeterminate . . failed', 'fail'],
  ['ie', 'indeterminate error', 'error'],
  // Flapping below the threshold is nobody's business; above it, each time is one.
  ['pfpfpfpf', '. . . . . . . .', 'pass'],
  ['pffpffpff', '. . . . . . . . .', 'pass'],
  ['fffpfffp', '. . failed recovered . . failed recovered', 'pass'],
  // A failed check with errors in between is still failed, and its recovery is told once.
  ['fffefefep', '. . failed error . . . . recovered', 'pass'],
  ['fffep', '. . failed error recovered', 'pass'],
  // Errors and failures in turns: neither hides the other.
  ['fefef', '. error . . failed', 'fail'],
]

describe('each event once, on a transition', () => {
  test.each(TRANSITIONS)('%s: %s, then %s', (results, events, state) => {
    expect(walk(results)).toEqual({ events, state })
  })
})

test('thresholds of one tell at once', () => {
  expect(walk('fpf', 1)).toEqual({ events: 'failed recovered failed', state: 'fail' })
})

test('a success threshold needs that many in a row to come back, but not to begin', () => {
  expect(walk('p', 3, 2)).toEqual({ events: '.', state: 'pass' })
  expect(walk('fffpfpp', 3, 2)).toEqual({ events: '. . failed . . . recovered', state: 'pass' })
  expect(walk('fffpepp', 3, 2)).toEqual({ events: '. . failed . error . recovered', state: 'pass' })
})

test('whatever the order: no event twice before it passes again, and nothing recovers that had not failed', () => {
  const results = fc.array(fc.constantFrom(...CHECK_RESULTS), { maxLength: 60 })
  const thresholds = fc.record({
    failureThreshold: fc.integer({ min: 1, max: 5 }),
    successThreshold: fc.integer({ min: 1, max: 5 }),
  })
  fc.assert(
    fc.property(results, thresholds, (sequence, limits) => {
      let standing: Standing = NEW_STANDING
      let told = new Set<string>()
      for (const result of sequence) {
        const next = nextStanding(standing, result, limits)
        if (next.event === 'application.check.recovered') expect(told).toContain('application.check.failed')
        if (next.event) expect(told).not.toContain(next.event)
        if (next.event) told.add(next.event)
        if (next.standing.state === 'pass') told = new Set()
        standing = next.standing
      }
    }),
  )
})

describe('a maintenance window', () => {
  const windows = [
    { from: '2026-03-02T10:00:00Z', until: '2026-03-02T11:00:00Z' },
    { from: '2026-03-02T11:30:00+01:00', until: '2026-03-02T13:00:00+01:00' },
  ]
  test.each([
    ['2026-03-02T09:59:59Z', undefined],
    ['2026-03-02T10:00:00Z', '2026-03-02T11:00:00.000Z'],
    ['2026-03-02T10:45:00Z', '2026-03-02T12:00:00.000Z'],
    ['2026-03-02T11:59:59Z', '2026-03-02T12:00:00.000Z'],
    ['2026-03-02T12:00:00Z', undefined],
  ])('at %s is open until %s', (at, until) => {
    expect(openWindowUntil(windows, new Date(at))?.toISOString()).toBe(until)
  })
})
