import { and, desc, eq } from '../../../db/drizzle.ts'
import { deployments } from '../../../db/schema.ts'
import { fitRows } from './fit-rows.ts'
import type { ReadingTool } from './tool.ts'

const DEPLOYMENTS = 20

export const recentDeployments: ReadingTool<'recent_deployments'> = async ({ db }, run) => {
  const found = await db
    .select()
    .from(deployments)
    .where(and(eq(deployments.orgId, run.orgId), eq(deployments.appId, run.appId)))
    .orderBy(desc(deployments.fence))
    .limit(DEPLOYMENTS + 1)
  const { rows, truncated } = fitRows(
    found.slice(0, DEPLOYMENTS).map(({ id, revisionId, state, code, requestedAt, endedAt }) => ({
      ref: `deployment:${id}`,
      id,
      revision_id: revisionId,
      state,
      code,
      requested_at: requestedAt.toISOString(),
      ended_at: endedAt?.toISOString() ?? null,
    })),
  )
  return {
    result: {
      base_revision: run.baseRevisionId,
      deployments: rows,
      truncated: truncated || found.length > DEPLOYMENTS,
    },
    evidence: rows.map(({ ref, ...deployment }) => ({
      ref,
      kind: 'deployment' as const,
      location: deployment.id,
      fromLine: null,
      toLine: null,
      text: JSON.stringify(deployment),
    })),
  }
}
