import { and, desc, eq, sql } from '../../../db/drizzle.ts'
import { findings, type FixEffect } from '../../../db/schema.ts'
import { presentEffect } from '../proposals/index.ts'
import { fitRows } from './fit-rows.ts'
import type { ReadingTool } from './tool.ts'

const FINDINGS = 50

/** Numbers only: what they are about stands in the finding. */
const fixOf = (effect: FixEffect | null) => {
  const shown = presentEffect(effect)
  return shown && { deployed_at: shown.deployed_at, text: shown.text, came_back_at: shown.came_back_at }
}

/** With the name of the table, which drizzle leaves out where a statement selects from one: of no other app, and no other organization. */
const isOfFinding = sql.raw(
  'p.org_id = findings.org_id and p.app_id = findings.app_id and p.fingerprint = findings.fingerprint',
)

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
        where ${isOfFinding}
          and p.decision_note is not null
        order by p.id desc limit 1)`,
      fix: sql<FixEffect | null>`(
        select p.effect from proposals p
        where ${isOfFinding}
          and p.state = 'deployed' and p.effect is not null
        order by p.id desc limit 1)`,
    })
    .from(findings)
    .where(and(eq(findings.orgId, run.orgId), eq(findings.appId, run.appId)))
    .orderBy(desc(findings.id))
    .limit(FINDINGS + 1)
  const { rows, truncated } = fitRows(
    found.slice(0, FINDINGS).map((row) => ({ ...row, fix: fixOf(row.fix) })),
  )
  return { result: { findings: rows, truncated: truncated || found.length > FINDINGS }, evidence: [] }
}
