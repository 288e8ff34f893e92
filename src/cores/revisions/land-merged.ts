/**
 * Merged pull requests whose change a revision holds. Their proposals are deployed with its deployment; without a runner,
 * which nobody could wait for, with its push.
 */
import type { Transaction } from '../../../db/connect.ts'
import { and, desc, eq, inArray, or, sql } from '../../../db/drizzle.ts'
import { appHeads, deployments, proposals, pullRequests } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { moveFindings } from '../move-findings.ts'
import { findRevision, type AppKey } from './find-revision.ts'
import { changeHolder } from './find-undone.ts'

/** Nobody waits for older ones. */
const LOOKED_AT = 100

/**
 * Those that wait, in the one order in which everybody locks proposals of an app. `also`: one that its caller is about to
 * change, which may be about to wait.
 */
export async function lockWaiting(
  tx: Transaction,
  { orgId, appId }: AppKey,
  also?: string,
): Promise<string[]> {
  const newest = tx
    .select({ id: proposals.id })
    .from(proposals)
    .innerJoin(pullRequests, and(eq(pullRequests.orgId, proposals.orgId), eq(pullRequests.id, proposals.id)))
    .where(
      and(
        eq(proposals.orgId, orgId),
        eq(proposals.appId, appId),
        eq(proposals.state, 'deploying'),
        eq(pullRequests.state, 'merged'),
      ),
    )
    .orderBy(desc(proposals.id))
    .limit(LOOKED_AT)
  const locked = await tx
    .select({ id: proposals.id })
    .from(proposals)
    .where(
      and(
        eq(proposals.orgId, orgId),
        or(inArray(proposals.id, newest), also === undefined ? undefined : eq(proposals.id, also)),
      ),
    )
    .orderBy(proposals.id)
    .for('update')
  return locked.map(({ id }) => id)
}

type Landing = {
  readonly revisionId: string
  readonly deploymentId?: string
  /** Those that the caller has locked, and no others. */
  readonly locked?: readonly string[]
}

/** `deploymentId`: it was deployed by that one. In the transaction of the push, the deployment or the look at the host. */
export async function landMerged(
  tx: Transaction,
  clock: Clock,
  key: AppKey,
  { revisionId, deploymentId, locked: given }: Landing,
): Promise<void> {
  const { orgId, appId } = key
  const locked = given ?? (await lockWaiting(tx, key))
  if (locked.length === 0) return
  const waiting = await tx
    .select({
      id: proposals.id,
      fingerprint: proposals.fingerprint,
      diff: proposals.diff,
      files: proposals.files,
      renamedFiles: proposals.renamedFiles,
    })
    .from(proposals)
    .innerJoin(pullRequests, and(eq(pullRequests.orgId, proposals.orgId), eq(pullRequests.id, proposals.id)))
    .where(
      and(
        eq(proposals.orgId, orgId),
        inArray(proposals.id, [...locked]),
        // As they are now that they are locked.
        eq(proposals.state, 'deploying'),
        eq(pullRequests.state, 'merged'),
      ),
    )
    .orderBy(proposals.id)
  const revision = waiting.length === 0 ? undefined : await findRevision(tx, key, revisionId)
  if (!revision) return
  const holds = changeHolder(tx, orgId, revision.manifest)
  const by = deploymentId ?? (await findSucceeded(tx, key, revisionId))
  const isWaitedFor = by === undefined && (await hasRunner(tx, key))
  for (const proposal of waiting) {
    if (!(await holds(proposal))) continue
    const isProposal = and(eq(proposals.orgId, orgId), eq(proposals.id, proposal.id))
    if (!isWaitedFor) {
      await tx
        .update(proposals)
        .set({
          state: 'deployed',
          deploymentId: by ?? null,
          undoneBy: null,
          changedAt: clock(),
          // By its deployment, or else its push: both may be long ago when the host is looked at.
          deployedAt: sql`coalesce(
            (select ended_at from ${deployments} where org_id = ${orgId} and id = ${by ?? null}),
            (select set_at from ${appHeads} where org_id = ${orgId} and app_id = ${appId} and revision_id = ${revisionId}),
            ${clock().toISOString()}::timestamptz)`,
          restoredAt: null,
        })
        .where(isProposal)
      await moveFindings(tx, key, [proposal.fingerprint], {
        from: ['open', 'proposed'],
        to: 'resolved',
        reopenedBy: null,
      })
    }
    await tx
      .update(pullRequests)
      .set({
        landedBy: sql`coalesce(${pullRequests.landedBy}, ${revisionId})`,
        ...(!isWaitedFor && { nextAt: null }),
      })
      .where(and(eq(pullRequests.orgId, orgId), eq(pullRequests.id, proposal.id)))
  }
}

async function findSucceeded(
  tx: Transaction,
  { orgId, appId }: AppKey,
  revisionId: string,
): Promise<string | undefined> {
  const [row] = await tx
    .select({ id: deployments.id })
    .from(deployments)
    .where(
      and(
        eq(deployments.orgId, orgId),
        eq(deployments.appId, appId),
        eq(deployments.revisionId, revisionId),
        eq(deployments.state, 'succeeded'),
      ),
    )
    .orderBy(desc(deployments.fence))
    .limit(1)
  return row?.id
}

/** One has claimed a deployment once. A token alone says nothing: `svc apps connect` makes one for everybody. */
async function hasRunner(tx: Transaction, { orgId, appId }: AppKey): Promise<boolean> {
  const [row] = await tx.execute<{ has: boolean }>(sql`
    select exists (select from ${deployments}
      where org_id = ${orgId} and app_id = ${appId} and started_at is not null) as has`)
  return row!.has
}
