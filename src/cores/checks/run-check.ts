/** Makes a check due now; a worker runs it. */
import { checks } from '../../../db/schema.ts'
import { notify } from '../../../db/listen.ts'
import { CHECK_PAUSES } from '../../contracts/check-results.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { write, type Verb } from '../verb.ts'
import { hasCheckKey, lockCheck, pauseOf, presentCheck } from './check-rows.ts'
import type { ChecksDeps } from './checks-deps.ts'

/** Between two requests for the same check: nobody makes us a means to flood a host. */
export const APART_SECONDS = 10

export const runCheck: Verb<'runCheck', ChecksDeps> = write(
  { audit: 'check.run_started' },
  async ({ tx, clock, member, directory, judge, audit }, path) => {
    const { check } = await lockCheck(directory, tx, member, path)
    const now = clock()
    const paused = await pauseOf({ judge, db: tx }, check, now)
    if (paused) throw new ServiceError('CONFLICT', `The check is paused: ${CHECK_PAUSES[paused]}`)
    const waitMs = (check.requestedAt?.getTime() ?? 0) + APART_SECONDS * 1000 - now.getTime()
    // Longer only after a clock was set back, and then it says nothing.
    if (waitMs > 0 && waitMs <= 2 * APART_SECONDS * 1000)
      throw new ServiceError('RATE_LIMITED', undefined, {
        retryAfterSeconds: Math.min(Math.ceil(waitMs / 1000), APART_SECONDS),
      })
    const [due] = await tx
      .update(checks)
      // One that is under way is not run a second time: its next time is set when it is settled.
      .set({ requestedAt: now, nextRunAt: now })
      .where(hasCheckKey(check))
      .returning()
    await notify(tx, 'checks')
    await audit('check.run_started', `${path.alias}: ${check.name}`)
    return presentCheck({ judge, db: tx }, due!, { now })
  },
)
