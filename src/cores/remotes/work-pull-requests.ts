/**
 * Opens and watches pull requests, one claim at a time, by any number of workers. Whoever dies leaves a lease that ends, and the
 * next one finds by the name of its branch what is there already. One that does not work is tried again after growing pauses,
 * and an organization has two at a time, so that a host that hangs keeps only its own waiting.
 */
import { and, desc, eq, isNull, sql } from '../../../db/drizzle.ts'
import { appHeads, apps, deployments, proposals, pullRequests } from '../../../db/schema.ts'
import type { Handle, Transaction } from '../../../db/connect.ts'
import type { PullRequestCode } from '../../contracts/git-hosts.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import type { Log, Storage } from '../dependencies.ts'
import { openEvidence, readEvidence } from '../findings/index.ts'
import { recordEvent } from '../outbox.ts'
import { findHead, findRevision, landMerged, lockWaiting, readBlobs } from '../revisions/index.ts'
import { withTransaction } from '../transaction.ts'
import { claimFirst, fewestFirst, notAhead } from '../work/index.ts'
import { branchOf, composePullRequest } from './compose-pull-request.ts'
import type { Failed, ProposedContent, WithGitHosts } from './git-host-port.ts'
import { failPullRequest, isPullRequest, pullRequestLease, type PullRequestRow } from './pull-request-rows.ts'
import { accessOf, findRemote, noteVisibility } from './remote-rows.ts'

export type PullRequestDeps = Storage &
  Log &
  WithGitHosts & { readonly dataKeys: DataKeys; readonly appUrl: URL }

/** Of an organization, over all workers. */
const AT_ONCE = 2
/** Others may take the first ones. */
const CANDIDATES = 8
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** What cannot be opened for so long is given up, and a person decides. */
const GIVE_UP_MS = 24 * HOUR_MS
/** After the merge. */
const LANDS_WITHIN_MS = 7 * 24 * HOUR_MS
/** Waiting longer changes nothing about these. */
const FINAL: ReadonlySet<PullRequestCode> = new Set(['UPSTREAM_DIFFERS', 'BRANCH_TAKEN', 'REMOTE_REMOVED'])

/** Organizations take turns, those with the fewest under way first. Undefined: nothing is due, or all of it is taken. */
export async function claimPullRequest({ db, clock }: Storage): Promise<PullRequestRow | undefined> {
  const isDue = sql`${pullRequests.nextAt} <= ${notAhead(clock())}`
  const found = await db.execute<{ orgId: string; id: string }>(
    fewestFirst({
      rows: sql`select org_id as "orgId", id, next_at as place
        from ${pullRequests} where ${isDue} and ${pullRequestLease.isFree()}`,
      underWay: sql`${pullRequests} where next_at is not null and ${pullRequestLease.isLive()}`,
      most: AT_ONCE,
      candidates: CANDIDATES,
    }),
  )
  return claimFirst(db, found, (tx, key) => pullRequestLease.take(tx, and(isPullRequest(key), isDue)))
}

/** One turn. False: there was nothing to do. */
export async function workPullRequest(deps: PullRequestDeps, stopping?: AbortSignal): Promise<boolean> {
  const claimed = await claimPullRequest(deps)
  if (!claimed) return false
  const work = WORK[claimed.state as keyof typeof WORK](deps, claimed).catch((error: unknown) =>
    deps.log.warn('pull requests: one was not handled', { proposal: claimed.id, error }),
  )
  // Whoever stops does not wait for a slow host: the lease ends by itself, and the next one goes on.
  await (stopping ? Promise.race([work, untilAborted(stopping)]) : work)
  return true
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

type Work = (deps: PullRequestDeps, claimed: PullRequestRow) => Promise<void>

const WORK = { opening: open, open: look, merged: land } satisfies Record<string, Work>

async function open(deps: PullRequestDeps, claimed: PullRequestRow): Promise<void> {
  const { db, gitHosts, dataKeys } = deps
  const remote = await findRemote(db, claimed)
  const proposed = await composeBranch(deps, claimed)
  if (!remote || !proposed) return settleFailed(deps, claimed, { kind: 'failed', code: 'REMOTE_REMOVED' })
  const opened = await gitHosts.open(accessOf(dataKeys, remote), proposed)
  if (opened.kind === 'failed') return settleFailed(deps, claimed, opened)
  await noteVisibility(db, remote, opened.isPublic)
  await settlePullRequest(deps, claimed, async (tx) => {
    const now = deps.clock()
    const { number, url } = opened
    await change(tx, claimed, {
      state: 'open',
      number,
      url,
      code: null,
      failures: 0,
      openedAt: now,
      lookedAt: now,
      nextAt: new Date(now.getTime() + MINUTE_MS),
    })
    await recordEvent(tx, deps.clock, {
      orgId: claimed.orgId,
      type: 'application.maintenance.proposal.opened',
      subject: `proposals/${claimed.id}`,
      source: 'remotes',
      dedupKey: `${claimed.id}:opened:${claimed.ordinal}`,
      actorId: null,
      appId: claimed.appId,
      data: { proposal_id: claimed.id },
    })
  })
}

/** Undefined: its revisions are not kept any more, or it is approved no longer. */
async function composeBranch({ db, dataKeys, appUrl }: PullRequestDeps, claimed: PullRequestRow) {
  const { orgId, id } = claimed
  const [found] = await db
    .select({ proposal: proposals, alias: apps.alias })
    .from(proposals)
    .innerJoin(apps, and(eq(apps.orgId, proposals.orgId), eq(apps.id, proposals.appId)))
    .where(and(eq(proposals.orgId, orgId), eq(proposals.id, id)))
  if (found?.proposal.state !== 'approved') return undefined
  const { proposal, alias } = found
  const files = await readContents(db, proposal)
  if (!files) return undefined
  const evidence = await readEvidence(db, proposal, proposal.evidence)
  const link = new URL(`/console/apps/${alias}/proposals/${id}`, appUrl).href
  const quotes = evidence
    .toSorted((a, b) => proposal.evidence.indexOf(a.ref) - proposal.evidence.indexOf(b.ref))
    .map((row) => ({ ref: row.ref, text: openEvidence(dataKeys, row) }))
  const { title, rationale } = proposal
  return {
    branch: branchOf(claimed),
    files,
    ...composePullRequest({ id, title, rationale, link, evidence: quotes }),
  }
}

async function readContents(
  db: Handle,
  { orgId, appId, newRevisionId, files }: typeof proposals.$inferSelect,
): Promise<readonly ProposedContent[] | undefined> {
  const revision = await findRevision(db, { orgId, appId }, newRevisionId)
  if (!revision) return undefined
  const isExecutable = new Map(revision.manifest.map(([path, , , bit]) => [path, bit === 1]))
  const contents = await readBlobs(
    db,
    orgId,
    files.flatMap(({ before, after }) => [before, after].filter((sha) => sha !== null)),
  )
  const of = (sha: string | null) => (sha === null ? null : contents.get(sha))
  const read = files.map(({ path, before, after }) => ({
    path,
    before: of(before),
    after: of(after),
    isExecutable: isExecutable.get(path) ?? false,
  }))
  const isWhole = (file: (typeof read)[number]): file is ProposedContent =>
    file.before !== undefined && file.after !== undefined
  return read.every(isWhole) ? read : undefined
}

async function look(deps: PullRequestDeps, claimed: PullRequestRow): Promise<void> {
  const { db, gitHosts, dataKeys, clock } = deps
  const remote = await findRemote(db, claimed)
  if (!remote) return settleFailed(deps, claimed, { kind: 'failed', code: 'REMOTE_REMOVED' })
  const seen = await gitHosts.look(accessOf(dataKeys, remote), {
    number: claimed.number!,
    branch: branchOf(claimed),
  })
  if (seen.kind === 'failed') return settleFailed(deps, claimed, seen)
  await settlePullRequest(deps, claimed, async (tx, locked) => {
    if (seen.state === 'closed') {
      return failPullRequest(tx, clock, claimed, { code: 'CLOSED_UPSTREAM', state: 'closed' })
    }
    if (seen.state === 'open') return change(tx, claimed, watched(claimed, clock()))
    await tx
      .update(proposals)
      .set({ state: 'deploying', changedAt: clock() })
      .where(
        and(
          eq(proposals.orgId, claimed.orgId),
          eq(proposals.id, claimed.id),
          eq(proposals.state, 'approved'),
        ),
      )
    await change(tx, claimed, { state: 'merged', ...watched(claimed, clock()) })
    await landInHead(tx, deps, claimed, locked)
  })
}

/** Pushes and deployments say so by themselves; whatever came in between them is seen here. */
async function land(deps: PullRequestDeps, claimed: PullRequestRow): Promise<void> {
  await settlePullRequest(deps, claimed, async (tx, locked) => {
    await change(tx, claimed, watched(claimed, deps.clock()))
    await landInHead(tx, deps, claimed, locked)
    if (await isChangedUpstream(tx, deps.clock(), claimed)) {
      await failPullRequest(tx, deps.clock, claimed, { code: 'CHANGED_UPSTREAM', state: 'merged' })
    }
  })
}

/** What was pushed since it was seen merged has not had its lines for so long: somebody changed them before they merged. */
async function isChangedUpstream(
  tx: Transaction,
  now: Date,
  { orgId, appId, id }: PullRequestRow,
): Promise<boolean> {
  const [row] = await tx
    .select({ since: proposals.changedAt, pushedAt: appHeads.setAt })
    .from(proposals)
    .innerJoin(pullRequests, and(eq(pullRequests.orgId, proposals.orgId), eq(pullRequests.id, proposals.id)))
    .innerJoin(appHeads, and(eq(appHeads.orgId, orgId), eq(appHeads.appId, appId)))
    .where(
      and(
        eq(proposals.orgId, orgId),
        eq(proposals.id, id),
        eq(proposals.state, 'deploying'),
        isNull(pullRequests.landedBy),
      ),
    )
  return (
    row !== undefined && row.pushedAt > row.since && now.getTime() - row.since.getTime() > LANDS_WITHIN_MS
  )
}

async function landInHead(
  tx: Transaction,
  { clock }: PullRequestDeps,
  { orgId, appId }: PullRequestRow,
  locked: readonly string[],
): Promise<void> {
  const key = { orgId, appId }
  const head = await findHead(tx, key)
  if (head !== undefined) await landMerged(tx, clock, key, { revisionId: head, locked })
  const [last] = await tx
    .select({ id: deployments.id, revisionId: deployments.revisionId })
    .from(deployments)
    .where(
      and(eq(deployments.orgId, orgId), eq(deployments.appId, appId), eq(deployments.state, 'succeeded')),
    )
    .orderBy(desc(deployments.fence))
    .limit(1)
  if (last) await landMerged(tx, clock, key, { revisionId: last.revisionId, deploymentId: last.id, locked })
}

/** The longer it is open, the longer the pause: a minute at first, an hour after a day. */
function watched({ openedAt, requestedAt }: PullRequestRow, now: Date) {
  const ageMs = now.getTime() - (openedAt ?? requestedAt).getTime()
  const pauseMs = Math.min(Math.max(ageMs / 20, MINUTE_MS), HOUR_MS)
  return { code: null, failures: 0, lookedAt: now, nextAt: new Date(now.getTime() + pauseMs) }
}

const FAILED_MS = { first: 30_000, most: HOUR_MS }

async function settleFailed(
  deps: PullRequestDeps,
  claimed: PullRequestRow,
  { code, retryAfterSeconds = 0 }: Failed,
): Promise<void> {
  const { clock } = deps
  await settlePullRequest(deps, claimed, async (tx) => {
    const now = clock().getTime()
    const isLate = claimed.state === 'opening' && now - claimed.requestedAt.getTime() > GIVE_UP_MS
    if (isLate || FINAL.has(code)) return failPullRequest(tx, clock, claimed, { code })
    const pauseMs = Math.max(FAILED_MS.first * 2 ** Math.min(claimed.failures, 10), retryAfterSeconds * 1000)
    await change(tx, claimed, {
      code,
      failures: claimed.failures + 1,
      lookedAt: clock(),
      nextAt: new Date(now + Math.min(pauseMs, FAILED_MS.most)),
    })
  })
}

/** Of whoever still holds it, under the lock of the proposal and of those that may land with it. False: another one has gone on meanwhile. */
export async function settlePullRequest(
  { db }: Pick<Storage, 'db'>,
  claimed: PullRequestRow,
  work: (tx: Transaction, locked: readonly string[]) => Promise<void>,
): Promise<boolean> {
  return withTransaction(db, async (tx) => {
    const locked = await lockWaiting(tx, claimed, claimed.id)
    const held = await pullRequestLease.release(tx, pullRequestLease.isHeld(claimed))
    if (held) await work(tx, locked)
    return held !== undefined
  })
}

async function change(tx: Transaction, key: PullRequestRow, values: Partial<PullRequestRow>): Promise<void> {
  await tx.update(pullRequests).set(values).where(isPullRequest(key))
}
