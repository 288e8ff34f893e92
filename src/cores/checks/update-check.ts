import { checks } from '../../../db/schema.ts'
import { notify } from '../../../db/listen.ts'
import { write, type Verb } from '../verb.ts'
import { changedWindows } from './changed-windows.ts'
import { hasCheckKey, lockCheck, presentCheck, type Check } from './check-rows.ts'
import type { ChecksDeps } from './checks-deps.ts'
import { NAME_TAKEN } from './create-check.ts'
import { APART_SECONDS } from './run-check.ts'
import { storeDefinition } from './stored-definition.ts'

export const updateCheck: Verb<'updateCheck', ChecksDeps> = write(
  { audit: 'check.changed', taken: NAME_TAKEN },
  async (
    { tx, clock, member, directory, dataKeys, judge, audit },
    { alias, check_id, definition, ...asked },
  ) => {
    const { check } = await lockCheck(directory, tx, member, { alias, check_id })
    const now = clock()
    const enabled = asked.enabled ?? check.enabled
    const name = asked.name ?? check.name
    const [changed] = await tx
      .update(checks)
      .set({
        name,
        ...(definition && storeDefinition(dataKeys, check, definition, check)),
        intervalSeconds: asked.interval_seconds ?? check.intervalSeconds,
        failureThreshold: asked.failure_threshold ?? check.failureThreshold,
        successThreshold: asked.success_threshold ?? check.successThreshold,
        enabled,
        maintenanceWindows: changedWindows(check.maintenanceWindows, asked),
        nextRunAt: enabled ? soonest(check, now) : null,
        // A run that is under way answers an old question: its result does not count.
        claim: null,
        leaseUntil: null,
      })
      .where(hasCheckKey(check))
      .returning()
    await notify(tx, 'checks')
    await audit('check.changed', `${alias}: ${name}`)
    return presentCheck({ judge, db: tx }, changed!, { now })
  },
)

/**
 * At once, but not by changing it over and over again: runs begin apart from each other, also one that is under way and
 * will not count.
 */
export function soonest(
  { lastRunAt, lastStartedAt }: Pick<Check, 'lastRunAt' | 'lastStartedAt'>,
  now: Date,
): Date {
  const last = Math.max(lastRunAt?.getTime() ?? 0, lastStartedAt?.getTime() ?? 0)
  const waitMs = last + APART_SECONDS * 1000 - now.getTime()
  // No longer than that, also after a clock was set back.
  return new Date(now.getTime() + Math.min(Math.max(waitMs, 0), APART_SECONDS * 1000))
}
