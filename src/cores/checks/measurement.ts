/** What one run of a check found. */
import type { CheckReason, CheckResult } from '../../contracts/check-results.ts'

export type Measurement = {
  readonly result: CheckResult
  /** Null where it is not kept. */
  readonly ms: number | null
  readonly status: number | null
  readonly reason: CheckReason | null
  readonly detail: string | null
}

export const measured = (
  result: CheckResult,
  reason: CheckReason | null,
  rest: Partial<Omit<Measurement, 'result' | 'reason'>> = {},
): Measurement => ({ result, reason, ms: null, status: null, detail: null, ...rest })
