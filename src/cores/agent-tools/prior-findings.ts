import { and, desc, eq } from '../../../db/drizzle.ts'
import { findings } from '../../../db/schema.ts'
import { fitRows } from './fit-rows.ts'
import type { ReadingTool } from './tool.ts'

const FINDINGS = 50

export const priorFindings: ReadingTool<'prior_findings'> = async ({ db }, run) => {
  const found = await db
    .select({
      id: findings.id,
      fingerprint: findings.fingerprint,
      kind: findings.kind,
      summary: findings.summary,
      location: findings.location,
      state: findings.state,
    })
    .from(findings)
    .where(and(eq(findings.orgId, run.orgId), eq(findings.appId, run.appId)))
    .orderBy(desc(findings.id))
    .limit(FINDINGS + 1)
  const { rows, truncated } = fitRows(found.slice(0, FINDINGS))
  return { result: { findings: rows, truncated: truncated || found.length > FINDINGS }, evidence: [] }
}
