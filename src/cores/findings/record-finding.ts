/** Records what a run has found, once for each matter: found again, it is the same finding. */
import type { Transaction } from '../../../db/connect.ts'
import { and, count, eq } from '../../../db/drizzle.ts'
import { findings, type Matter } from '../../../db/schema.ts'
import {
  AGENT_LIMITS,
  ToolRefused,
  type EvidenceRead,
  type FindingKind,
  type ToolInput,
  type ToolOutput,
} from '../../contracts/agent-tools.ts'
import { makeId } from '../../contracts/ids.ts'
import { maskSecrets } from '../../contracts/mask-secrets.ts'
import type { FindingState } from '../../contracts/outcomes.ts'
import { plainText } from '../../contracts/plain-text.ts'
import type { Clock } from '../dependencies.ts'
import { readSettings, underLease, type Run, type RunKey } from '../maintenance/index.ts'
import { citeEvidence, findReadLine } from './cite-evidence.ts'
import type { WithDataKeys } from './evidence-rows.ts'
import { findKnown, wasDenied, type KnownFinding } from './known-matters.ts'
import { lockRun } from './lock-run.ts'
import { fingerprintOf, firstOf, matterOf } from './matter.ts'

type FindingDeps = WithDataKeys & { readonly clock: Clock }

export async function recordFinding(
  tx: Transaction,
  deps: FindingDeps,
  key: RunKey,
  { kind, summary, evidence, location }: ToolInput<'record_finding'>,
): Promise<ToolOutput<'record_finding'>> {
  await underLease(tx, key)
  const run = await lockRun(tx, key)
  if ((await countFindings(tx, run)) >= AGENT_LIMITS.findings) throw new ToolRefused('TOO_MANY_FINDINGS')
  const line = location && (await findReadLine(tx, deps, key, location))
  if (location && line === undefined) {
    throw new ToolRefused('EVIDENCE_NOT_READ', ['location: the line was not read in this run'])
  }
  const cited = await citeEvidence(tx, deps, key, evidence)
  const matter = {
    ...matterOf(cited),
    ...(location && line !== undefined && { place: { path: location.path, line: firstOf(line) } }),
  }
  if (await wasDenied(tx, run, matter)) {
    throw new ToolRefused('DUPLICATE', ['Somebody denied this, and the source there has not changed since'])
  }
  return saveFinding(tx, deps, run, {
    matter,
    kind,
    cited,
    summary,
    location: location ? `${location.path}:${location.line}` : null,
    state: 'open',
  })
}

/** Also what a proposal is about. */
export type NewFinding = {
  readonly matter: Matter
  /** Undefined: as it is known. */
  readonly kind: FindingKind | undefined
  readonly cited: readonly EvidenceRead[]
  readonly summary: string
  readonly location: string | null
  /** What a change replaces: of several findings in the same lines, it is about the one that is placed there. */
  readonly replaced?: readonly { readonly path: string; readonly lines: string }[]
  readonly state: Extract<FindingState, 'open' | 'proposed'>
}

export async function saveFinding(
  tx: Transaction,
  deps: FindingDeps,
  run: Run,
  found: NewFinding,
): Promise<ToolOutput<'record_finding'>> {
  const now = deps.clock()
  const known = await findKnown(tx, run, found.matter, found.replaced)
  const isKnown = known !== undefined && !(await isToBeReported(tx, run, known, now))
  const values = {
    summary: maskSecrets(plainText(found.summary)),
    location: found.location,
    executionId: run.id,
    evidence: found.cited.map(({ ref }) => ref),
    lastFoundAt: now,
    ...(!isKnown && { reportedAt: now, reportedIn: run.id }),
  }
  if (known) {
    await tx
      .update(findings)
      .set({
        ...values,
        kind: found.kind ?? known.kind,
        state: known.state === 'proposed' ? 'proposed' : found.state,
        // Nights, not calls of one of them.
        timesFound: known.timesFound + (known.executionId === run.id ? 0 : 1),
      })
      .where(and(eq(findings.orgId, run.orgId), eq(findings.id, known.id)))
    return { finding_id: known.id, fingerprint: known.fingerprint, is_known: isKnown }
  }
  const fingerprint = fingerprintOf(run.appId, found.matter)
  const id = makeId('fnd', now.getTime())
  await tx.insert(findings).values({
    orgId: run.orgId,
    id,
    appId: run.appId,
    fingerprint,
    matter: found.matter,
    kind: found.kind ?? 'other',
    state: found.state,
    firstFoundAt: now,
    ...values,
  })
  return { finding_id: id, fingerprint, is_known: false }
}

/** An hour less: a night in spring has 23 of them, and every second night would otherwise be too early. */
const NIGHT_SHORTER_BY_MS = 3_600_000

/**
 * decisions, 14: the cool-down limits reporting again. What has a proposal lies before somebody already; what was resolved,
 * or denied and has changed since, is news.
 */
async function isToBeReported(tx: Transaction, run: Run, known: KnownFinding, now: Date): Promise<boolean> {
  if (known.state === 'proposed') return false
  if (known.state !== 'open' || known.reportedAt === null) return true
  const { cooldownHours } = await readSettings(tx, run.orgId)
  return now.getTime() - known.reportedAt.getTime() >= cooldownHours * 3_600_000 - NIGHT_SHORTER_BY_MS
}

/** Of this run, new or known. */
export async function countFindings(tx: Transaction, run: Run): Promise<number> {
  const [row] = await tx
    .select({ n: count() })
    .from(findings)
    .where(and(eq(findings.orgId, run.orgId), eq(findings.executionId, run.id)))
  return row!.n
}
