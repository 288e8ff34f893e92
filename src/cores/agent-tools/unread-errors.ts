/** Errors of the day before a run that it did not look at: with one of them it has not found nothing, whatever its analyst says. */
import type { Handle } from '../../../db/connect.ts'
import { readLogIds } from '../findings/index.ts'
import { findUnreadErrors } from '../logs/index.ts'
import type { RunKey } from '../maintenance/index.ts'
import { appOf } from './tool.ts'

const DAY_MS = 24 * 60 * 60_000

/** The ids of groups, a few of them. Lines that came after the run began are for the next one. */
export async function unreadErrors(
  db: Handle,
  run: RunKey & { readonly startedAt: Date },
): Promise<string[]> {
  const until = run.startedAt
  const since = new Date(until.getTime() - DAY_MS)
  return findUnreadErrors(db, appOf(run), { since, until }, await readLogIds(db, run))
}
