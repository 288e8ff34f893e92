/** Fails what nobody claimed in a day, and what its runner does not report on any more. Any number of workers may do it. */
import type { SQL } from 'drizzle-orm'
import { and, eq, lt, or, sql } from '../../../db/drizzle.ts'
import { deployments } from '../../../db/schema.ts'
import { DEPLOYMENT_LEASE_SECONDS, DEPLOYMENT_UNCLAIMED_SECONDS } from '../../contracts/limits.ts'
import type { Log, Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { couldReport, type Watch } from '../watch.ts'
import { failDeployment } from './fail-deployment.ts'
import { leaseIsOver } from './lease.ts'

/** In one turn, and of these as many of each organization as there are turns for. */
const BATCH = 100

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
    running: couldReport(watch, now, DEPLOYMENT_LEASE_SECONDS) ? leaseIsOver : sql`false`,
  } as const
  let failed = 0
  for (const row of await findExpired({ db, clock }, expired)) {
    if (stopping?.aborted) break
    const code = row.state === 'queued' ? 'NO_RUNNER' : 'RUNNER_LOST'
    try {
      // Each alone: an event is recorded with its change, and the change only if it still applies.
      const change = { code, actorId: null, when: expired[row.state] } as const
      if (await withTransaction(db, (tx) => failDeployment(tx, clock, row, change))) failed++
    } catch (error) {
      // One that cannot be handled keeps no other waiting.
      log.warn('deployments: one was not expired', { deployment: row.id, error })
    }
  }
  return failed
}

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

type Expired = { readonly orgId: string; readonly id: string; readonly state: 'queued' | 'running' }

async function findExpired(
  { db }: Storage,
  { queued, running }: { queued: SQL; running: SQL },
): Promise<Expired[]> {
  const rows = await db
    .select({ orgId: deployments.orgId, id: deployments.id, state: deployments.state })
    .from(deployments)
    .where(or(and(eq(deployments.state, 'queued'), queued), and(eq(deployments.state, 'running'), running)))
    .orderBy(
      sql`row_number() over (partition by ${deployments.orgId} order by ${deployments.id})`,
      deployments.orgId,
    )
    .limit(BATCH)
  return rows as Expired[]
}
