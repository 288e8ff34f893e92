/** The schedule of a pipeline, if it has one and is on. */
import { ServiceError } from '../../contracts/errors.ts'
import { nextDueAt, problemsWithCron } from '../schedule.ts'

type Scheduled = { readonly cron: string | null; readonly timezone: string; readonly enabled: boolean }

export const dueAfter = ({ cron, timezone, enabled }: Scheduled, after: Date): Date | null =>
  enabled && cron !== null ? (nextDueAt(cron, timezone, after) ?? null) : null

export function requireSchedule({ cron, timezone }: Omit<Scheduled, 'enabled'>, now: Date): void {
  const problems = cron === null ? [] : problemsWithCron(cron, timezone, now)
  if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', undefined, { problems })
}
