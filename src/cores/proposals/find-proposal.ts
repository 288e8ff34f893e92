/** The newest proposal about a finding, with its diff for those who may read source. */
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq } from '../../../db/drizzle.ts'
import { proposals } from '../../../db/schema.ts'
import { presentOne, type Proposal, type Viewing } from './proposal-rows.ts'

export async function presentProposalAbout(
  db: Handle,
  { orgId, id: appId }: { readonly orgId: string; readonly id: string },
  fingerprint: string,
  viewing: Viewing,
) {
  const [row] = await db
    .select()
    .from(proposals)
    .where(
      and(eq(proposals.orgId, orgId), eq(proposals.appId, appId), eq(proposals.fingerprint, fingerprint)),
    )
    .orderBy(desc(proposals.id))
    .limit(1)
  if (!row) return null
  return {
    ...(await presentOne(db, row, viewing)),
    diff: viewing.readsSource ? row.diff : null,
    files: viewing.readsSource ? row.files.map(presentFile) : null,
  }
}

export const presentFile = ({ path, before, after, added, removed }: Proposal['files'][number]) => ({
  path,
  change: before === null ? ('added' as const) : after === null ? ('removed' as const) : ('changed' as const),
  added_lines: added,
  removed_lines: removed,
})
