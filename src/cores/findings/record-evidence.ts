/** Records what a tool has shown to a run: only this can be cited. Called under the lease of the run. */
import { createHash } from 'node:crypto'
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { runEvidence } from '../../../db/schema.ts'
import type { EvidenceRead } from '../../contracts/agent-tools.ts'
import type { Clock } from '../dependencies.ts'
import { sealEvidence, type RunId, type WithDataKeys } from './evidence-rows.ts'

/** Parts of what was read, which are cited: for good. */
export async function pinEvidence(
  tx: Transaction,
  deps: WithDataKeys & { readonly clock: Clock },
  run: RunId,
  reads: readonly EvidenceRead[],
): Promise<void> {
  if (reads.length > 0) await tx.execute(evidenceInsert(deps, run, reads, sql`true`, true))
}

/** In one statement, however many lines a tool has shown; what was read before is there already. `condition`: nothing is recorded without it. */
export function evidenceInsert(
  { clock, dataKeys }: WithDataKeys & { readonly clock: Clock },
  run: RunId,
  reads: readonly EvidenceRead[],
  condition: SQL,
  pinned = false,
): SQL {
  const rows = reads.map((read) => [
    read.ref,
    read.kind,
    read.location,
    read.fromLine,
    read.toLine,
    createHash('sha256').update(read.text).digest('hex'),
    sealEvidence(dataKeys, run, read),
  ])
  return sql`
    insert into ${runEvidence}
      (org_id, execution_id, ref, kind, location, from_line, to_line, sha256, sealed_text, pinned, read_at)
    select ${run.orgId}, ${run.executionId}, read ->> 0, read ->> 1, read ->> 2, (read ->> 3)::int, (read ->> 4)::int,
      read ->> 5, read ->> 6, ${pinned}::boolean, ${clock().toISOString()}::timestamptz
    from json_array_elements(${JSON.stringify(rows)}::json) as read where ${condition}
    on conflict do nothing`
}
