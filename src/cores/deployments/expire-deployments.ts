/** Fails what nobody claimed in a day, and what its runner does not report on any more. Any number of workers may do it. */
import type { SQL } from 'drizzle-orm'
import { and, eq, lt, or, sql } from '../../../db/drizzle.ts'
import { deployments } from '../../../db/schema.ts'
import { DEPLOYMENT_UNCLAIMED_SECONDS } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { failDeployment } from './fail-deployment.ts'
import { leaseIsOver } from './lease.ts'

/** In one turn, and of these as many of each organization as there are turns for. */
const BATCH = 100

export async function expireDeployments({ db, clock }: Storage, stopping?: AbortSignal): Promise<void> {
  for (;;) {
    const unclaimedSince = new Date(clock().getTime() - DEPLOYMENT_UNCLAIMED_SECONDS * 1000)
    const expired = {
      queued: lt(deployments.requestedAt, unclaimedSince),
      running: leaseIsOver,
    } as const
    const rows = await findExpired({ db, clock }, expired)
    for (const row of rows) {
      if (stopping?.aborted) return
      const code = row.state === 'queued' ? 'NO_RUNNER' : 'RUNNER_LOST'
      // Each alone: an event is recorded with its change, and the change only if it still applies.
      await withTransaction(db, (tx) =>
        failDeployment(tx, clock, row, { code, actorId: null, when: expired[row.state] }),
      )
    }
    if (rows.length < BATCH) return
  }
}

type Expired = { readonly orgId: string; readonly id: string; readonly state: 'queued' | 'running' }

async function findExpired(
  { db }: Storage,
  { queued, running }: { queued: SQL | undefined; running: SQL },
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
