/** A runner claims the first deployment of the queue, if no command of the app may be running. */
import type { Handle } from '../../../db/connect.ts'
import { and, asc, eq, notExists, sql } from '../../../db/drizzle.ts'
import { deployments } from '../../../db/schema.ts'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import { DEPLOYMENT_LEASE_SECONDS } from '../../contracts/limits.ts'
import { maskSecrets } from '../../contracts/mask-secrets.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireAppWriter, type App } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { claimFirst, createWaits, onTimeline } from '../work/index.ts'
import { isDeployment, lockQueue, presentDeployment, type Deployment } from './deployment-rows.ts'
import { followDeployment } from './follow-deployment.ts'
import { runnerLease } from './lease.ts'

/** Runners that wait for something to claim. */
const waitForWork = createWaits(FAIR_QUEUES.deploymentWaits, 'deployments')

export const claimDeployment =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'claimDeployment'> =>
  async (principal, { alias, runner, claim_id, command, wait_seconds }) => {
    const app = await requireAppWriter(directory, db, principal, alias)
    if (command !== undefined) await keepCommand(db, app, maskSecrets(command))
    // Not for a runner that is gone: nobody would run it.
    if (principal.signal?.aborted) return answer(undefined)
    const findOwn = async () => (claim_id === undefined ? undefined : findClaim(db, app, claim_id))
    const claimed =
      (await findOwn()) ??
      (await claimNext({ db, clock }, app, { runner, claimId: claim_id ?? null })) ??
      // The claim that is repeated may have been made just now, by a call whose answer nobody gets.
      (await findOwn())
    // Whoever waited has perhaps hung up meanwhile, and a claim in their name would be lost: they claim with their next call.
    if (!claimed) {
      const wait = { seconds: wait_seconds, signal: principal.signal }
      const hasNext = async () => (await findNext(db, app)) !== undefined
      await waitForWork(db, { orgId: app.orgId, key: app.id }, wait, hasNext)
    }
    return answer(claimed)
  }

const answer = (claimed: Deployment | undefined) => ({
  deployment: claimed ? presentDeployment(claimed) : null,
  fence: claimed?.fence ?? null,
  lease_seconds: DEPLOYMENT_LEASE_SECONDS,
})

/** An app has few runners, and they are told apart by what they execute. */
const COMMANDS_KEPT = 5

/** Writes nothing while it is the same, as it is with nearly every call. */
const keepCommand = (db: Handle, { orgId, id }: App, command: string): Promise<unknown> =>
  db.execute(sql`
    update apps set runner_commands = (
      select coalesce(jsonb_agg(one), '[]') from (
        select to_jsonb(${command}::text) as one
        union all
        (select one from jsonb_array_elements(runner_commands) as kept(one)
         where one <> to_jsonb(${command}::text) limit ${COMMANDS_KEPT - 1})) as named)
    where org_id = ${orgId} and id = ${id} and not runner_commands @> to_jsonb(${command}::text)`)

/** Most calls find nothing, and those hold no lock. */
const claimNext = async (
  { db, clock }: Storage,
  app: App,
  { runner, claimId }: { runner: string; claimId: string | null },
): Promise<Deployment | undefined> =>
  claimFirst(db, (await findNext(db, app)) ? [app] : [], async (tx) => {
    await lockQueue(tx, app)
    const next = await findNext(tx, app)
    if (!next) return undefined
    const [claimed] = await tx
      .update(deployments)
      .set({
        state: 'running',
        runner,
        claimId,
        fence: await onTimeline(tx, next.fence),
        startedAt: clock(),
        ...runnerLease.taken(),
      })
      // A cancellation does not wait for the queue.
      .where(and(isDeployment(next), eq(deployments.state, 'queued')))
      .returning()
    if (claimed) await followDeployment(tx, clock, claimed)
    return claimed
  })

/** The first in the queue, unless a command of the app runs, or may run because its runner was lost. */
async function findNext(
  db: Handle,
  { orgId, id: appId }: App,
): Promise<Pick<Deployment, 'orgId' | 'id' | 'fence'> | undefined> {
  const ofApp = and(eq(deployments.orgId, orgId), eq(deployments.appId, appId))
  const [next] = await db
    .select({ orgId: deployments.orgId, id: deployments.id, fence: deployments.fence })
    .from(deployments)
    .where(
      and(
        ofApp,
        eq(deployments.state, 'queued'),
        notExists(
          db
            .select({ one: sql`1` })
            .from(sql`deployments as holder`)
            .where(
              sql`holder.org_id = ${orgId} and holder.app_id = ${appId} and holder.started_at is not null and holder.released_at is null`,
            ),
        ),
      ),
    )
    .orderBy(asc(deployments.fence))
    .limit(1)
  return next
}

const findClaim = (db: Handle, { orgId, id: appId }: App, claimId: string): Promise<Deployment | undefined> =>
  runnerLease.renew(
    db,
    and(
      eq(deployments.orgId, orgId),
      eq(deployments.appId, appId),
      eq(deployments.state, 'running'),
      eq(deployments.claimId, claimId),
    ),
  )
