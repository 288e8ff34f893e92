/** A proposal as a row, for tests that are not about how it came to be. */
import { appHeads, findings, proposals, proposedRevisions, runEvidence } from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { makeRevision } from './deployments.ts'
import { sha256 } from './source.ts'
import type { TestSystem } from './system.ts'

const DIFF = 'diff --git a/main.js b/main.js\n--- a/main.js\n+++ b/main.js\n@@ -1,1 +1,1 @@\n-x\n+y\n'
export const EVIDENCE_REF = 'file:main.js#L1-L1'
let days = 0

/** Its base becomes the head, so that it may be approved; of a failed one its own revision does. */
export async function insertProposal(
  system: Pick<TestSystem, 'db' | 'clock'>,
  app: { orgId: string; id: string },
  given: Partial<typeof proposals.$inferInsert> = {},
) {
  const { db, clock } = system
  const now = clock.now()
  const id = makeId('pr', now.getTime())
  const [base, next] = [await makeRevision(system, app), await makeRevision(system, app)]
  const head = { revisionId: given.state === 'failed' ? next : base, setAt: now }
  await db
    .insert(appHeads)
    .values({ orgId: app.orgId, appId: app.id, ...head })
    .onConflictDoUpdate({ target: [appHeads.orgId, appHeads.appId], set: head })
  const executionId = given.executionId ?? makeId('exec', now.getTime())
  const matter = { files: [{ path: 'main.js', lines: 'x' }], logTemplate: null, subject: null }
  const row = {
    orgId: app.orgId,
    id,
    appId: app.id,
    executionId,
    day: new Date(Date.UTC(2000, 0, ++days)).toISOString().slice(0, 10),
    baseRevisionId: base,
    newRevisionId: next,
    treeSha256: sha256(id),
    diff: DIFF,
    diffSha256: sha256(DIFF),
    files: [{ path: 'main.js', before: sha256('x\n'), after: sha256('y\n'), added: 1, removed: 1 }],
    title: 'Repair the sum',
    rationale: 'Because of the log.',
    fingerprint: `fp_${sha256(id).slice(0, 16)}`,
    matter,
    evidence: [EVIDENCE_REF],
    edits: [{ path: 'main.js', old_text: 'x', new_text: 'y' }],
    state: 'ready' as const,
    createdAt: now,
    changedAt: now,
    ...given,
  }
  await db.insert(proposals).values(row)
  if (row.state !== 'failed') {
    await db
      .insert(proposedRevisions)
      .values({ orgId: app.orgId, appId: app.id, revisionId: row.newRevisionId })
  }
  const finding = {
    orgId: app.orgId,
    id: makeId('fnd', now.getTime()),
    appId: app.id,
    executionId,
    fingerprint: row.fingerprint,
    matter,
    kind: 'error' as const,
    summary: row.title,
    state: 'proposed' as const,
    evidence: row.evidence,
    firstFoundAt: now,
    lastFoundAt: now,
  }
  await db.insert(findings).values(finding)
  await db.insert(runEvidence).values({
    orgId: app.orgId,
    executionId,
    ref: EVIDENCE_REF,
    kind: 'file',
    location: 'main.js',
    fromLine: 1,
    toLine: 1,
    sha256: sha256('x'),
    pinned: true,
    readAt: now,
  })
  return { id, diffSha256: row.diffSha256, executionId, findingId: finding.id }
}
