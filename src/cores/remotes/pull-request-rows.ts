/** Pull requests as they are kept, and the one way into each of their states. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, eq, inArray, isNotNull, sql } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { proposals, pullRequests } from '../../../db/schema.ts'
import type { PullRequestCode } from '../../contracts/git-hosts.ts'
import type { Clock } from '../dependencies.ts'
import { moveFindings } from '../move-findings.ts'
import { recordEvent } from '../outbox.ts'
import { leased } from '../work/index.ts'
import type { RemoteKey } from './remote-rows.ts'

export type PullRequestRow = typeof pullRequests.$inferSelect
type PullRequestKey = { readonly orgId: string; readonly id: string }

/** Longer than all requests of one attempt may take. What its holder has done by then is found by the next. */
const LEASE_SECONDS = 300

export const pullRequestLease = leased(pullRequests, {
  heldBy: ['orgId', 'id', 'leaseToken'],
  holder: 'leaseToken',
  until: 'leaseUntil',
  seconds: LEASE_SECONDS,
})

export const isPullRequest = ({ orgId, id }: PullRequestKey) =>
  and(eq(pullRequests.orgId, orgId), eq(pullRequests.id, id))

export async function findPullRequest(db: Handle, key: PullRequestKey): Promise<PullRequestRow | undefined> {
  const [row] = await db.select().from(pullRequests).where(isPullRequest(key))
  return row
}

/** By the ids of their proposals. */
export async function readPullRequests(
  db: Handle,
  orgId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PullRequestRow>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .select()
    .from(pullRequests)
    .where(and(eq(pullRequests.orgId, orgId), inArray(pullRequests.id, [...ids])))
  return new Map(rows.map((row) => [row.id, row]))
}

export const presentPullRequest = (row: PullRequestRow | undefined) =>
  row === undefined
    ? null
    : { state: row.state, number: row.number, url: row.url, code: row.code, landed_by: row.landedBy }

/** In the transaction of the approval. Opened again it has another branch: that of the first one may be there still. */
export async function requestPullRequest(
  tx: Transaction,
  clock: Clock,
  { orgId, id, appId }: PullRequestKey & RemoteKey,
): Promise<void> {
  const now = clock()
  const fresh = {
    state: 'opening' as const,
    code: null,
    number: null,
    url: null,
    landedBy: null,
    requestedAt: now,
    openedAt: null,
    failures: 0,
    lookedAt: null,
    nextAt: now,
    ...pullRequestLease.given,
  }
  await tx
    .insert(pullRequests)
    .values({ orgId, id, appId, ordinal: 1, ...fresh })
    .onConflictDoUpdate({
      target: [pullRequests.orgId, pullRequests.id],
      set: { ...fresh, ordinal: sql`${pullRequests.ordinal} + 1` },
    })
  await notify(tx, 'pull-requests')
}

/** Its proposal has failed, and what that was about is open again. */
export async function failPullRequest(
  tx: Transaction,
  clock: Clock,
  key: PullRequestKey,
  {
    code,
    state = 'failed',
  }: { readonly code: PullRequestCode; readonly state?: 'failed' | 'closed' | 'merged' },
): Promise<void> {
  const now = clock()
  const [proposal] = await tx
    .update(proposals)
    .set({ state: 'failed', changedAt: now })
    .where(
      and(
        eq(proposals.orgId, key.orgId),
        eq(proposals.id, key.id),
        inArray(proposals.state, ['approved', 'deploying']),
      ),
    )
    .returning({ appId: proposals.appId, fingerprint: proposals.fingerprint })
  const [row] = await tx
    .update(pullRequests)
    .set({ state, code, nextAt: null, ...pullRequestLease.given })
    .where(isPullRequest(key))
    .returning({ ordinal: pullRequests.ordinal })
  if (!proposal) return
  const { appId, fingerprint } = proposal
  await moveFindings(tx, { orgId: key.orgId, appId }, [fingerprint], { from: ['proposed'], to: 'open' })
  await recordEvent(tx, clock, {
    orgId: key.orgId,
    type: 'application.maintenance.proposal.failed',
    subject: `proposals/${key.id}`,
    source: 'remotes',
    // One that is merged may fail more than once.
    dedupKey: `${key.id}:failed:${row!.ordinal}:${now.getTime()}`,
    actorId: null,
    appId,
    data: { proposal_id: key.id, code },
  })
}

/** Those that nobody can open or watch any more. What is merged needs the host no longer. */
export async function giveUpPullRequests(
  tx: Transaction,
  clock: Clock,
  { orgId, appId }: RemoteKey,
): Promise<void> {
  // In the order in which everybody locks them: the proposal, then its pull request.
  const rows = await tx
    .select({ id: proposals.id })
    .from(proposals)
    .where(
      and(
        eq(proposals.orgId, orgId),
        sql`${proposals.id} in (select r.id from ${pullRequests} r
          where r.org_id = ${orgId} and r.app_id = ${appId} and r.state in ('opening', 'open'))`,
      ),
    )
    .orderBy(proposals.id)
    .for('update')
  for (const { id } of rows) await failPullRequest(tx, clock, { orgId, id }, { code: 'REMOTE_REMOVED' })
}

/** Whether it has landed is asked now: a push may have come before. */
export async function watchAgain(tx: Transaction, clock: Clock, key: PullRequestKey): Promise<void> {
  await tx.update(pullRequests).set({ nextAt: clock(), code: null }).where(isPullRequest(key))
  await notify(tx, 'pull-requests')
}

/** Nobody waits for it any more: what is merged stays so at the host. */
export async function unwatch(tx: Transaction, key: PullRequestKey): Promise<void> {
  await tx
    .update(pullRequests)
    .set({ nextAt: null, ...pullRequestLease.given })
    .where(isPullRequest(key))
}

/** What did not work with the token of before is tried with the new one now. */
export async function wakePullRequests(
  tx: Transaction,
  clock: Clock,
  { orgId, appId }: RemoteKey,
): Promise<void> {
  await tx
    .update(pullRequests)
    .set({ nextAt: clock(), failures: 0 })
    .where(
      and(
        eq(pullRequests.orgId, orgId),
        eq(pullRequests.appId, appId),
        isNotNull(pullRequests.nextAt),
        isNotNull(pullRequests.code),
      ),
    )
  await notify(tx, 'pull-requests')
}
