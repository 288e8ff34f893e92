/** Makes a check due now; a worker runs it. */
import { checks } from '../../../db/schema.ts'
import { CHECK_PAUSES } from '../../contracts/check-results.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { hasCheckKey, lockCheck, pauseOf, presentCheck } from './check-rows.ts'
import { announceDue, type ChecksDeps } from './checks-deps.ts'

/** Between two requests for the same check: nobody makes us a means to flood a host. */
export const APART_SECONDS = 10

export const runCheck =
  ({ db, clock, directory, judge }: ChecksDeps): Handler<'runCheck'> =>
  async (principal, path) => {
    const requested = await withTransaction(db, async (tx) => {
      const { check } = await lockCheck(directory, tx, requireMember(principal), path)
      const now = clock()
      const paused = await pauseOf(judge, check, now)
      if (paused) throw new ServiceError('CONFLICT', `The check is paused: ${CHECK_PAUSES[paused]}`)
      const waitMs = (check.requestedAt?.getTime() ?? 0) + APART_SECONDS * 1000 - now.getTime()
      if (waitMs > 0)
        throw new ServiceError('RATE_LIMITED', undefined, { retryAfterSeconds: Math.ceil(waitMs / 1000) })
      const [due] = await tx
        .update(checks)
        // One that is under way is not run a second time: its next time is set when it is settled.
        .set({ requestedAt: now, nextRunAt: now })
        .where(hasCheckKey(check))
        .returning()
      return presentCheck(judge, due!, now)
    })
    announceDue()
    return requested
  }
