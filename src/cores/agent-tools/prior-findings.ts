import { and, desc, eq, sql } from '../../../db/drizzle.ts'
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
      decision: sql<{ approved: boolean; note: string } | null>`(
        select json_build_object('approved', p.state <> 'denied', 'note', p.decision_note) from proposals p
        where p.org_id = ${findings.orgId} and p.app_id = ${findings.appId} and p.fingerprint = ${findings.fingerprint}
          and p.decision_note is not null
        order by p.id desc limit 1)`,
    })
    .from(findings)
    .where(and(eq(findings.orgId, run.orgId), eq(findings.appId, run.appId)))
    .orderBy(desc(findings.id))
    .limit(FINDINGS + 1)
  const { rows, truncated } = fitRows(found.slice(0, FINDINGS))
  return { result: { findings: rows, truncated: truncated || found.length > FINDINGS }, evidence: [] }
}
