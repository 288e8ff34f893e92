import type { Handle } from '../../../db/connect.ts'
import { and, asc, desc, eq, or } from '../../../db/drizzle.ts'
import { findings, maintenanceRuns, runEvidence, runSteps } from '../../../db/schema.ts'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import { RUN_EVIDENCE_SHOWN } from '../../contracts/limits.ts'
import type { WithDirectory } from '../directory/index.ts'
import { createWaits } from '../work/index.ts'
import { read, type Verb } from '../verb.ts'
import { requireAppMaintenance } from './maintenance-access.ts'
import { countEvidence, isRun, presentRun, requireRun, type Run } from './run-rows.ts'

const waitForChange = createWaits(FAIR_QUEUES.maintenanceWaits, 'maintenance')

export const showMaintenanceRun: Verb<'showMaintenanceRun', WithDirectory> = read(
  'principal',
  async ({ db, principal, directory }, { alias, execution_id, wait, status }) => {
    const { app, readsSource } = await requireAppMaintenance({ directory }, db, principal, alias, {
      history: true,
    })
    const found = await requireRun(db, app, execution_id)
    const known = status ?? found.status
    // Nothing leads out of ended.
    if (found.status === known && known !== 'ended') {
      const hasChanged = async () => (await readStatus(db, found)) !== known
      const key = { orgId: app.orgId, key: found.id }
      await waitForChange(db, key, { seconds: wait, signal: principal.signal }, hasChanged)
    }
    const run = wait === 0 ? found : await requireRun(db, app, execution_id)
    const [steps, evidence, read, recorded] = await Promise.all([
      readSteps(db, run),
      readEvidence(db, run),
      countEvidence(db, [run]),
      readFindings(db, run),
    ])
    return {
      ...presentRun(run, { alias, evidenceRead: read.get(run.id) ?? 0, readsSource }),
      steps,
      evidence: evidence.map((one) => (readsSource ? one : { ...one, ref: null, location: null })),
      findings: recorded,
    }
  },
)

async function readStatus(db: Handle, run: Run): Promise<Run['status'] | undefined> {
  const [row] = await db.select({ status: maintenanceRuns.status }).from(maintenanceRuns).where(isRun(run))
  return row?.status
}

/** Without its transcript: tens of megabytes in a run, for everybody who looks at it. */
const STEP = {
  number: runSteps.number,
  tool: runSteps.tool,
  result: runSteps.result,
  tokens: runSteps.tokens,
  ms: runSteps.ms,
  at: runSteps.at,
  requestSha256: runSteps.requestSha256,
  resultSha256: runSteps.resultSha256,
}

async function readSteps(db: Handle, { orgId, id }: Run) {
  const rows = await db
    .select(STEP)
    .from(runSteps)
    .where(and(eq(runSteps.orgId, orgId), eq(runSteps.executionId, id)))
    .orderBy(asc(runSteps.number))
  return rows.map(presentStep)
}

export const presentStep = (step: Pick<typeof runSteps.$inferSelect, keyof typeof STEP>) => ({
  number: step.number,
  tool: step.tool,
  result: step.result,
  tokens: step.tokens,
  ms: step.ms,
  at: step.at.toISOString(),
  request_sha256: step.requestSha256,
  result_sha256: step.resultSha256,
})

/** What is cited comes first, and always fits; `evidence_read` says how much there is. Never the text itself. */
const readEvidence = (db: Handle, { orgId, id }: Run) =>
  db
    .select({
      ref: runEvidence.ref,
      kind: runEvidence.kind,
      location: runEvidence.location,
      from_line: runEvidence.fromLine,
      to_line: runEvidence.toLine,
      sha256: runEvidence.sha256,
      pinned: runEvidence.pinned,
    })
    .from(runEvidence)
    .where(and(eq(runEvidence.orgId, orgId), eq(runEvidence.executionId, id)))
    .orderBy(desc(runEvidence.pinned), asc(runEvidence.readAt), asc(runEvidence.ref))
    .limit(RUN_EVIDENCE_SHOWN)

const readFindings = (db: Handle, { orgId, id }: Run) =>
  db
    .select({ id: findings.id, kind: findings.kind, fingerprint: findings.fingerprint })
    .from(findings)
    // Another run may have found it again since.
    .where(and(eq(findings.orgId, orgId), or(eq(findings.executionId, id), eq(findings.reportedIn, id))))
    .orderBy(asc(findings.id))
