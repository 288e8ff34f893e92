/**
 * Where a check stands after a run, and the event that this is, if it is one. A check fails after so many failures since
 * it last passed; an instrument in error and a limit that was reached are told at once (interface.md, Events). Each event
 * happens once until the check passes again, in whatever order the results come.
 */
import type { CheckResult } from '../../contracts/check-results.ts'
import type { EventType } from '../../contracts/events.ts'

export type Standing = {
  readonly state: CheckResult | null
  readonly passes: number
  readonly failures: number
  readonly reportedFailed: boolean
  readonly reportedError: boolean
  readonly reportedIndeterminate: boolean
}

export type Thresholds = { readonly failureThreshold: number; readonly successThreshold: number }

export type CheckEvent = Extract<EventType, `application.check.${string}`>

const UNREPORTED = { reportedFailed: false, reportedError: false, reportedIndeterminate: false } as const
export const NEW_STANDING: Standing = { state: null, passes: 0, failures: 0, ...UNREPORTED }

/** Nothing that anybody could run counts further than this. */
const COUNT_MAX = 1_000_000
const oneMore = (count: number): number => Math.min(count + 1, COUNT_MAX)

type Next = { readonly standing: Standing; readonly event: CheckEvent | null }

export function nextStanding(
  before: Standing,
  result: CheckResult,
  { failureThreshold, successThreshold }: Thresholds,
): Next {
  switch (result) {
    case 'pass': {
      const passes = oneMore(before.passes)
      const passed = { ...before, passes, failures: 0 }
      // The first result of all, and a check that never left: there is nothing to come back from.
      const needed = before.state === null || before.state === 'pass' ? 1 : successThreshold
      if (passes < needed) return { standing: passed, event: null }
      return {
        standing: { ...passed, state: 'pass', ...UNREPORTED },
        event: before.reportedFailed ? 'application.check.recovered' : null,
      }
    }
    case 'fail': {
      const failures = oneMore(before.failures)
      const failed = { ...before, passes: 0, failures }
      // Failed already, with an error in between: it still is.
      if (before.reportedFailed) return { standing: { ...failed, state: 'fail' }, event: null }
      if (failures < failureThreshold) return { standing: failed, event: null }
      return {
        standing: { ...failed, state: 'fail', reportedFailed: true },
        event: 'application.check.failed',
      }
    }
    case 'error':
      return {
        standing: { ...before, passes: 0, state: 'error', reportedError: true },
        event: before.reportedError ? null : 'application.check.error',
      }
    case 'indeterminate':
      return {
        standing: { ...before, passes: 0, state: 'indeterminate', reportedIndeterminate: true },
        event: before.reportedIndeterminate ? null : 'application.check.indeterminate',
      }
  }
}
