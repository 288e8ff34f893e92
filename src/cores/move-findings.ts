/** Findings follow what becomes of the proposals about them: the way in which a push, a pull request and a deployment move them. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../db/connect.ts'
import { and, eq, inArray } from '../../db/drizzle.ts'
import { findings } from '../../db/schema.ts'
import type { FindingState } from '../contracts/outcomes.ts'

type Move = {
  /** Others are in somebody's hands; left out: whatever they are. */
  readonly from?: readonly FindingState[] | undefined
  readonly to: FindingState
  /** The push that undid the repair; left out: as it is. */
  readonly reopenedBy?: string | null
  readonly when?: SQL
}

export async function moveFindings(
  tx: Transaction,
  { orgId, appId }: { readonly orgId: string; readonly appId: string },
  fingerprints: readonly string[],
  { from, to, reopenedBy, when }: Move,
): Promise<void> {
  if (fingerprints.length === 0) return
  await tx
    .update(findings)
    .set({ state: to, ...(reopenedBy !== undefined && { reopenedBy }) })
    .where(
      and(
        eq(findings.orgId, orgId),
        eq(findings.appId, appId),
        inArray(findings.fingerprint, [...fingerprints]),
        from && inArray(findings.state, [...from]),
        when,
      ),
    )
}
