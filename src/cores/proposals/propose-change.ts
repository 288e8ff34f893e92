/** Opens a proposal for a run: the change is stored as a revision that is not the head, and waits for a person. */
import type { Transaction } from '../../../db/connect.ts'
import { and, desc, eq, inArray, ne, or, sql } from '../../../db/drizzle.ts'
import { proposals, proposedRevisions, type Matter, type ProposalEdit } from '../../../db/schema.ts'
import {
  AGENT_LIMITS,
  ToolRefused,
  type EvidenceRead,
  type ToolInput,
  type ToolOutput,
} from '../../contracts/agent-tools.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { maskSecrets } from '../../contracts/mask-secrets.ts'
import { RULES_MODEL, type ProposalState } from '../../contracts/outcomes.ts'
import { plainText } from '../../contracts/plain-text.ts'
import { shownPath } from '../../contracts/source-paths.ts'
import { notifyChange } from '../changes/index.ts'
import type { Storage } from '../dependencies.ts'
import {
  citeEvidence,
  countFindings,
  findUnread,
  firstOf,
  lockRun,
  matterOf,
  saveFinding,
  wasDenied,
  type WithDataKeys,
} from '../findings/index.ts'
import { readChangers, readSettings, underLease, type Run, type RunKey } from '../maintenance/index.ts'
import { recordEvent } from '../outbox.ts'
import {
  findHead,
  lockStorage,
  requireRevision,
  storeFiles,
  storeRevision,
  type AppKey,
  type SourceLimits,
  type WithSourceThread,
} from '../revisions/index.ts'
import { localDay } from '../schedule.ts'
import { withTransaction } from '../transaction.ts'
import { changedPlaces, haveCommonPlace } from './changed-places.ts'
import { prepareChange, type PreparedChange } from './prepare-change.ts'
import { readChangeRules } from './read-change-rules.ts'
import { AUTHOR, isProposal, type Proposal } from './proposal-rows.ts'

export type ProposalDeps = Storage & WithSourceThread & SourceLimits & WithDataKeys

export async function proposeChange(
  deps: ProposalDeps,
  key: RunKey,
  input: ToolInput<'propose_change'>,
): Promise<ToolOutput<'propose_change'>> {
  const base = await readBase(deps, key)
  const change = await prepareChange(deps, key.orgId, base.manifest, { ...input, rules: base.rules })
  const opened = await withTransaction(deps.db, (tx) => openProposal(tx, deps, key, input, change))
  // It is recorded as a finding, and so outlasts this refusal.
  if (opened.proposal_id === null) {
    throw new ToolRefused('PROPOSAL_LIMIT', [`It is recorded as the finding ${opened.finding_id}`])
  }
  return { proposal_id: opened.proposal_id, fingerprint: opened.fingerprint }
}

/** Read before anything is compared: what may not be proposed costs nothing. */
async function readBase({ db }: ProposalDeps, key: RunKey) {
  const { run, rules } = await withTransaction(db, async (tx) => {
    await underLease(tx, key)
    return { run: await lockRun(tx, key), rules: await readChangeRules(tx, key) }
  })
  if (run.model === RULES_MODEL) throw new ToolRefused('PROPOSALS_NOT_ALLOWED')
  if (run.baseRevisionId === null) throw new ToolRefused('NO_SOURCE')
  const { manifest } = await requireRevision(db, key, run.baseRevisionId)
  return { manifest, rules }
}

type Opened = {
  readonly fingerprint: string
  readonly finding_id: string
  /** Null: the app has had its proposal of the day. */
  readonly proposal_id: string | null
}

async function openProposal(
  tx: Transaction,
  deps: ProposalDeps,
  key: RunKey,
  input: ToolInput<'propose_change'>,
  change: PreparedChange,
): Promise<Opened> {
  await underLease(tx, key)
  const run = await lockRun(tx, key)
  await refuseUnread(tx, key, input.edits)
  const cited = await citeEvidence(tx, deps, key, input.evidence)
  const matter = matterOfChange(cited, input.edits)
  const rivals = await findRivals(tx, run, change)
  if (rivals.some(({ state }) => state === 'denied') || (await wasDenied(tx, run, matter))) {
    throw new ToolRefused('DUPLICATE', ['Somebody denied this, and the source there has not changed since'])
  }
  const day = await readDay(tx, deps, run)
  const isTaken = await hasProposal(tx, run, day)
  if (isTaken && (await countFindings(tx, run)) >= AGENT_LIMITS.findings) {
    throw new ToolRefused('PROPOSAL_LIMIT')
  }
  const finding = await saveFinding(tx, deps, run, {
    matter,
    kind: undefined,
    cited,
    summary: input.title,
    location: input.edits[0]?.path ?? null,
    replaced: input.edits.flatMap((edit) =>
      'old_text' in edit ? [{ path: edit.path, lines: edit.old_text }] : [],
    ),
    state: isTaken ? 'open' : 'proposed',
  })
  if (isTaken) return { ...finding, proposal_id: null }
  const { fingerprint } = finding
  const same = [...rivals, ...(await findSame(tx, run, fingerprint))]
  const open = same.find(({ state }) => state !== 'stale')
  if (open) throw alreadyOpen(open)
  await lockStorage(tx, key.orgId)
  if ((await findHead(tx, key)) !== run.baseRevisionId) {
    throw new ToolRefused('EDIT_DOES_NOT_APPLY', ['The source was changed since this run began'])
  }
  const stored = await storeChange(tx, deps, key, run.baseRevisionId, change).catch(asRefusal)
  const twin = await findTwin(tx, key, stored.treeSha256)
  if (twin !== undefined) throw new ToolRefused('DUPLICATE', [`The same change is in ${twin}`])
  const { title, rationale, edits } = input
  const values = { title, rationale, edits, ...stored, day, fingerprint, matter, cited }
  const id = await saveProposal(tx, deps, run, values, same[0])
  return { proposal_id: id, fingerprint, finding_id: finding.finding_id }
}

/** An edit by exact text of a file that was never read is a guess. */
async function refuseUnread(tx: Transaction, key: RunKey, edits: readonly ProposalEdit[]): Promise<void> {
  const edited = edits.filter((edit) => !('create' in edit)).map(({ path }) => path)
  const unread = await findUnread(tx, key, [...new Set(edited)])
  if (unread.length > 0) {
    throw new ToolRefused(
      'EVIDENCE_NOT_READ',
      unread.map((path) => `${shownPath(path)}: was not read in this run`),
    )
  }
}

/** Without a file among the evidence, it is about what it changes first. */
function matterOfChange(cited: readonly EvidenceRead[], edits: readonly ProposalEdit[]): Matter {
  const matter = matterOf(cited)
  const [first] = edits
  if (matter.files.length > 0 || first === undefined) return matter
  const lines = 'old_text' in first ? firstOf(first.old_text) : ''
  return { ...matter, files: [{ path: first.path, lines }], subject: null }
}

const readDay = async (tx: Transaction, { clock }: ProposalDeps, { orgId }: Run): Promise<string> =>
  localDay(clock(), (await readSettings(tx, orgId)).timezone)

const isOfApp = ({ orgId, appId }: AppKey) => and(eq(proposals.orgId, orgId), eq(proposals.appId, appId))

async function hasProposal(tx: Transaction, run: Run, day: string): Promise<boolean> {
  const [taken] = await tx
    .select({ id: proposals.id })
    .from(proposals)
    .where(and(isOfApp(run), eq(proposals.day, day)))
  return taken !== undefined
}

/** Somebody is yet to decide on it, or it is on its way. A stale one is replaced: nobody could approve it as it is. */
const OPEN = ['preparing', 'ready', 'approved', 'deploying'] as const

type Rival = { readonly id: string; readonly state: ProposalState }

const alreadyOpen = ({ id }: Rival) =>
  new ToolRefused('DUPLICATE', [`${id} is about the same, and not decided yet`])

const findSame = (tx: Transaction, run: Run, fingerprint: string): Promise<Rival[]> =>
  tx
    .select({ id: proposals.id, state: proposals.state })
    .from(proposals)
    .where(
      and(isOfApp(run), eq(proposals.fingerprint, fingerprint), inArray(proposals.state, [...OPEN, 'stale'])),
    )
    .orderBy(desc(proposals.id))

/** The newest that change one of the same files: older ones come to be proposed anew. */
const RIVALS_LOOKED_AT = 50

/** Those that change the same lines: what is cited for a change is the model's to choose, what it changes is not. */
async function findRivals(tx: Transaction, run: Run, change: PreparedChange): Promise<Rival[]> {
  const paths = change.files.map(({ path }) => path)
  const changesOne = or(
    ...paths.map((path) => sql`${proposals.files} @> ${JSON.stringify([{ path }])}::text::jsonb`),
  )
  const rows = await tx
    .select({ id: proposals.id, state: proposals.state, diff: proposals.diff, files: proposals.files })
    .from(proposals)
    .where(and(isOfApp(run), inArray(proposals.state, [...OPEN, 'stale', 'denied']), changesOne))
    .orderBy(desc(proposals.id))
    .limit(RIVALS_LOOKED_AT)
  const places = changedPlaces(change.diff, paths)
  return rows.filter(({ diff, files }) =>
    haveCommonPlace(
      places,
      changedPlaces(
        diff,
        files.map(({ path }) => path),
      ),
    ),
  )
}

/** decisions, 14: duplicates by the hash of the tree, also of what was denied. */
export async function findTwin(
  tx: Transaction,
  key: AppKey,
  treeSha256: string,
  except = '',
): Promise<string | undefined> {
  const [twin] = await tx
    .select({ id: proposals.id })
    .from(proposals)
    .where(
      and(
        isOfApp(key),
        eq(proposals.treeSha256, treeSha256),
        inArray(proposals.state, [...OPEN, 'denied']),
        ne(proposals.id, except),
      ),
    )
    .limit(1)
  return twin?.id
}

/** Under the lock of the storage. */
export async function storeChange(
  tx: Transaction,
  deps: ProposalDeps,
  key: AppKey,
  baseRevisionId: string,
  change: PreparedChange,
) {
  const app = { orgId: key.orgId, appId: key.appId }
  await storeFiles({ ...deps, db: tx }, app, change.contents)
  const by = { userId: null, userName: AUTHOR }
  const { revision, isNew } = await storeRevision(tx, deps, app, by, change.tree)
  // One that somebody pushed before stays theirs.
  if (isNew) await tx.insert(proposedRevisions).values({ ...app, revisionId: revision.id })
  return {
    baseRevisionId,
    newRevisionId: revision.id,
    treeSha256: revision.treeSha256,
    diff: change.diff,
    diffSha256: change.diffSha256,
    files: change.files,
  }
}

/** Of what an agent can do nothing about, it hears no more than that. */
function asRefusal(error: unknown): never {
  if (error instanceof ServiceError && (error.code === 'CONFLICT' || error.code === 'TOO_LARGE')) {
    throw new ToolRefused('CHANGE_TOO_LARGE', ['The organization stores as much source as it may'])
  }
  throw error
}

type NewProposal = Awaited<ReturnType<typeof storeChange>> & {
  readonly title: string
  readonly rationale: string
  readonly edits: readonly ProposalEdit[]
  readonly day: string
  readonly fingerprint: string
  readonly matter: Matter
  readonly cited: readonly EvidenceRead[]
}

/** A stale one of the same matter becomes this one: the queue holds each matter once. */
async function saveProposal(
  tx: Transaction,
  { clock }: ProposalDeps,
  run: Run,
  { title, rationale, cited, edits, ...given }: NewProposal,
  stale: Rival | undefined,
): Promise<string> {
  const now = clock()
  const values = {
    ...given,
    executionId: run.id,
    title: maskSecrets(plainText(title)),
    rationale: maskSecrets(plainText(rationale)),
    evidence: cited.map(({ ref }) => ref),
    edits,
    state: 'ready' as const,
    requestedById: run.requestedById,
    requestedBy: run.requestedBy,
    changedBy: await readChangers(tx, run),
    // One that is replaced may have been undone.
    undoneBy: null,
    createdAt: now,
    changedAt: now,
  }
  const id = stale?.id ?? makeId('pr', now.getTime())
  if (stale) await replaceStale(tx, run, stale, values)
  else await tx.insert(proposals).values({ ...values, orgId: run.orgId, id, appId: run.appId })
  await notifyChange(tx, 'proposals', { orgId: run.orgId })
  await recordEvent(tx, clock, {
    orgId: run.orgId,
    type: 'application.maintenance.proposal.created',
    subject: `proposals/${id}`,
    source: 'proposals',
    dedupKey: `${id}:created:${run.id}`,
    actorId: null,
    appId: run.appId,
    data: { proposal_id: id },
  })
  return id
}

/** Unless somebody has retried or denied it in the meantime. */
async function replaceStale(
  tx: Transaction,
  { orgId }: Run,
  stale: Rival,
  values: Partial<Proposal>,
): Promise<void> {
  const [replaced] = await tx
    .update(proposals)
    .set(values)
    .where(and(isProposal({ orgId, id: stale.id }), eq(proposals.state, 'stale')))
    .returning({ id: proposals.id })
  if (!replaced) throw alreadyOpen(stale)
}
