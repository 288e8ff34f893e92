/** Fails what nobody claimed in a day, and what its runner does not report on any more. Any number of workers may do it. */
import type { SQL } from 'drizzle-orm'
import { and, lt, sql } from '../../../db/drizzle.ts'
import { deployments } from '../../../db/schema.ts'
import { DEPLOYMENT_LEASE_SECONDS, DEPLOYMENT_UNCLAIMED_SECONDS } from '../../contracts/limits.ts'
import type { Log, Storage } from '../dependencies.ts'
import { couldReport, type Watch } from '../watch.ts'
import { handleInTurns } from '../work/index.ts'
import { failDeployment } from './fail-deployment.ts'
import { runnerLease } from './lease.ts'

/**
 * Returns how many it failed. A runner is lost only if it could report: whoever has looked for less than a lease leaves
 * running ones alone, because taking a living runner for lost ends its command in the midst of its work.
 */
export async function expireDeployments(
  { db, clock, log }: Storage & Log,
  watch: Watch,
  stopping?: AbortSignal,
): Promise<number> {
  const now = clock()
  const expired = {
    queued: isUnclaimedSince(new Date(now.getTime() - DEPLOYMENT_UNCLAIMED_SECONDS * 1000)),
    running: couldReport(watch, now, DEPLOYMENT_LEASE_SECONDS) ? runnerLease.isOver() : sql`false`,
  } as const
  return handleInTurns<Expired>(
    { db, log },
    {
      rows: sql`select org_id as "orgId", id, state, id as place from deployments
        where (state = 'queued' and ${expired.queued}) or (state = 'running' and ${expired.running})`,
      warning: 'deployments: one was not expired',
      named: 'deployment',
      stopping,
      async handle(tx, row) {
        const code = row.state === 'queued' ? 'NO_RUNNER' : 'RUNNER_LOST'
        // Only if it still applies.
        const change = { code, actorId: null, when: expired[row.state] } as const
        return (await failDeployment(tx, clock, row, change)) !== undefined
      },
    },
  )
}

type Expired = { readonly orgId: string; readonly id: string; readonly state: 'queued' | 'running' }

/** Nor was any other of its app: what waits behind a long command, or for a person's word, does not lack a runner. */
const isUnclaimedSince = (time: Date): SQL => {
  const since = sql`${time.toISOString()}::timestamptz`
  return and(
    lt(deployments.requestedAt, time),
    sql`not exists (
      select from deployments earlier
      where earlier.org_id = deployments.org_id and earlier.app_id = deployments.app_id
        and earlier.started_at is not null and (earlier.released_at is null or earlier.released_at > ${since}))`,
  )!
}
