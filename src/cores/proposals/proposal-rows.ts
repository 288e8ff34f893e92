/** Proposals as the operations find and return them. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { proposals } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { FindingState } from '../../contracts/outcomes.ts'
import { notifyChange } from '../changes/index.ts'
import { moveFindings } from '../move-findings.ts'
import { presentEffect } from './present-effect.ts'
import { findPullRequest, presentPullRequest, type PullRequestRow } from '../remotes/index.ts'
import { decisionFor, type Decidable, type Decider, type DecisionRules } from './decide.ts'

export type Proposal = typeof proposals.$inferSelect

/** All but what is long. */
export const LISTED = {
  orgId: proposals.orgId,
  id: proposals.id,
  appId: proposals.appId,
  executionId: proposals.executionId,
  state: proposals.state,
  title: proposals.title,
  requestedById: proposals.requestedById,
  requestedBy: proposals.requestedBy,
  changedBy: proposals.changedBy,
  fingerprint: proposals.fingerprint,
  baseRevisionId: proposals.baseRevisionId,
  newRevisionId: proposals.newRevisionId,
  treeSha256: proposals.treeSha256,
  diffSha256: proposals.diffSha256,
  files: proposals.files,
  decidedById: proposals.decidedById,
  decidedBy: proposals.decidedBy,
  decidedVia: proposals.decidedVia,
  decidedTokenId: proposals.decidedTokenId,
  decidedToken: proposals.decidedToken,
  decidedGrantId: proposals.decidedGrantId,
  decidedAgent: proposals.decidedAgent,
  decidedAt: proposals.decidedAt,
  decisionNote: proposals.decisionNote,
  deploymentId: proposals.deploymentId,
  undoneBy: proposals.undoneBy,
  effect: proposals.effect,
  createdAt: proposals.createdAt,
}
export type ListedProposal = Pick<Proposal, keyof typeof LISTED>

export const isProposal = ({ orgId, id }: { orgId: string; id: string }) =>
  and(eq(proposals.orgId, orgId), eq(proposals.id, id))

const isProposalOf = ({ orgId, id: appId }: { orgId: string; id: string }, id: string) =>
  and(isProposal({ orgId, id }), eq(proposals.appId, appId))

/** Those of another app do not exist in this one. */
export async function requireProposal(
  db: Handle,
  app: { orgId: string; id: string },
  id: string,
): Promise<Proposal> {
  const [row] = await db.select().from(proposals).where(isProposalOf(app, id))
  if (!row) throw notFound()
  return row
}

/** One alone, with its pull request. */
export const presentOne = async (db: Handle, row: ListedProposal & { orgId: string }, viewing: Viewing) =>
  presentProposal(row, viewing, await findPullRequest(db, row))

/** Whoever decides holds its row: each finds the state that the one before has left. */
export async function lockProposal(
  tx: Transaction,
  app: { orgId: string; id: string },
  id: string,
): Promise<Proposal> {
  const [row] = await tx.select().from(proposals).where(isProposalOf(app, id)).for('update')
  if (!row) throw notFound()
  return row
}

export async function changeProposal(
  tx: Transaction,
  proposal: Pick<Proposal, 'orgId' | 'id'>,
  values: Partial<Proposal>,
): Promise<Proposal> {
  const [row] = await tx.update(proposals).set(values).where(isProposal(proposal)).returning()
  await notifyChange(tx, 'proposals', proposal)
  return row!
}

/** The finding behind a proposal stands as it does. Only what was resolved comes back: others are in somebody's hands. */
export const setFinding = (
  tx: Transaction,
  proposal: Pick<Proposal, 'orgId' | 'appId' | 'fingerprint'>,
  state: FindingState,
): Promise<void> =>
  moveFindings(tx, proposal, [proposal.fingerprint], {
    from: state === 'open' ? ['resolved'] : undefined,
    to: state,
    reopenedBy: null,
  })

/** The principal that made it: nobody can sign in as one. */
const authorIdOf = ({ executionId }: Pick<Proposal, 'executionId'>): string => `run:${executionId}`

export const decidableOf = (
  row: Pick<Proposal, 'state' | 'executionId' | 'requestedById' | 'changedBy'>,
  pullRequest: PullRequestRow | undefined,
): Decidable => ({
  state: row.state,
  authorId: authorIdOf(row),
  requesterIds: [
    ...(row.requestedById === null ? [] : [row.requestedById]),
    ...row.changedBy.map(({ id }) => id),
  ],
  isMerged: pullRequest?.state === 'merged',
})

export type Viewing = {
  readonly alias: string
  readonly who: Decider
  /** Whether whoever asks may read source and logs: texts of the model may quote them. */
  readonly readsSource: boolean
  readonly rules: DecisionRules
}

export function presentProposal(
  row: ListedProposal,
  { alias, who, readsSource, rules }: Viewing,
  pullRequest: PullRequestRow | undefined,
) {
  const sum = (side: 'added' | 'removed') => row.files.reduce((total, file) => total + file[side], 0)
  return {
    id: row.id,
    app: alias,
    state: row.state,
    title: readsSource ? row.title : null,
    author: AUTHOR,
    execution_id: row.executionId,
    requested_by: row.requestedBy === null ? null : { user_id: row.requestedById, name: row.requestedBy },
    settings_changed_by: row.changedBy.map(({ id, name }) => ({ user_id: id, name })),
    fingerprint: row.fingerprint,
    base_revision_id: row.baseRevisionId,
    new_revision_id: row.newRevisionId,
    tree_sha256: row.treeSha256,
    diff_sha256: row.diffSha256,
    files_changed: row.files.length,
    added_lines: sum('added'),
    removed_lines: sum('removed'),
    decided: presentDecided(row),
    deployment_id: row.deploymentId,
    pull_request: presentPullRequest(pullRequest),
    undone_by: row.undoneBy,
    effect: presentEffect(row.effect),
    created_at: row.createdAt.toISOString(),
    decision: decisionFor(decidableOf(row, pullRequest), who, rules),
  }
}

export const AUTHOR = 'Maintenance agent'

function presentDecided(row: ListedProposal) {
  if (row.decidedAt === null || row.decidedVia === null) return null
  return {
    approved: row.state !== 'denied',
    by: row.decidedBy ?? '',
    user_id: row.decidedById,
    via: row.decidedVia,
    token: row.decidedTokenId === null ? null : { id: row.decidedTokenId, name: row.decidedToken },
    agent: row.decidedGrantId === null ? null : { id: row.decidedGrantId, name: row.decidedAgent },
    at: row.decidedAt.toISOString(),
    note: row.decisionNote,
  }
}
