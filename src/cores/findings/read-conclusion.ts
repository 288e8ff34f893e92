/** What a run has come to, from what it really wrote: whoever ends it asks for this, and never the model. */
import type { Handle } from '../../../db/connect.ts'
import { and, asc, eq } from '../../../db/drizzle.ts'
import { findings, proposals } from '../../../db/schema.ts'
import type { RunId } from './evidence-rows.ts'

export type Conclusion = {
  readonly proposal: { readonly id: string; readonly title: string; readonly fingerprint: string } | undefined
  /** The first that it reported. */
  readonly finding:
    | { readonly id: string; readonly summary: string; readonly fingerprint: string }
    | undefined
  /** Found again before the cool-down was over: nothing that people are told of. */
  readonly known: number
}

export async function readConclusion(db: Handle, { orgId, executionId }: RunId): Promise<Conclusion> {
  const [proposal] = await db
    .select({ id: proposals.id, title: proposals.title, fingerprint: proposals.fingerprint })
    .from(proposals)
    .where(and(eq(proposals.orgId, orgId), eq(proposals.executionId, executionId)))
  const found = await db
    .select({
      id: findings.id,
      summary: findings.summary,
      fingerprint: findings.fingerprint,
      reportedIn: findings.reportedIn,
    })
    .from(findings)
    .where(and(eq(findings.orgId, orgId), eq(findings.executionId, executionId)))
    .orderBy(asc(findings.id))
  const reported = found.filter(({ reportedIn }) => reportedIn === executionId)
  return { proposal, finding: reported[0], known: found.length - reported.length }
}
