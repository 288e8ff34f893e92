/** The time between runs that people start, from start to start, of each model. Nightly ones neither count nor wait. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, gt, inArray, isNotNull, isNull, max, not, or } from '../../../db/drizzle.ts'
import { maintenanceRuns } from '../../../db/schema.ts'
import { outcomeOf, TERMINAL_CODES } from '../../contracts/outcomes.ts'
import { isRunOfApp } from './run-rows.ts'
import type { Settings } from './settings-rows.ts'

/** Also of the rules, which use no tokens. */
const COMPLETED = TERMINAL_CODES.filter((code) => outcomeOf(code).event?.endsWith('.completed'))

/** It could not finish, and used tokens of everybody's day: somebody who starts it again and again would use them all. */
const HAS_SPENT = and(
  inArray(maintenanceRuns.terminalCode, ['agent_error', 'lease_lost']),
  gt(maintenanceRuns.tokens, 0),
  // An agent runner that was stopped or lost, or a provider that is down, is nothing that people can help.
  or(
    isNull(maintenanceRuns.reason),
    not(
      inArray(maintenanceRuns.reason, [
        'RUNNER_LOST',
        'RUNNER_STOPPED',
        'MODEL_OUTAGE',
        'OUTAGE_USED_ALLOWANCE',
      ]),
    ),
  ),
)

const HOUR_MS = 60 * 60 * 1000

/** Until then somebody who starts a run is refused; undefined: nothing keeps them. */
export async function manualRunFrom(
  db: Handle,
  app: { orgId: string; id: string },
  { cooldownHours, model }: Settings,
  now: Date,
): Promise<Date | undefined> {
  const coolMs = cooldownHours * HOUR_MS
  const [last] = await db
    .select({ at: max(maintenanceRuns.startedAt) })
    .from(maintenanceRuns)
    .where(
      and(
        isRunOfApp(app),
        isNotNull(maintenanceRuns.requestedById),
        // Another model may be tried at once.
        model === null ? undefined : eq(maintenanceRuns.model, model),
        or(inArray(maintenanceRuns.terminalCode, COMPLETED), HAS_SPENT),
        gt(maintenanceRuns.startedAt, new Date(now.getTime() - coolMs)),
      ),
    )
  return last?.at ? new Date(last.at.getTime() + coolMs) : undefined
}
