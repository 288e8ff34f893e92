/** Approved proposals whose change a push takes away again, because whoever pushed did not have it. */
import type { Transaction } from '../../../db/connect.ts'
import { and, desc, eq, inArray } from '../../../db/drizzle.ts'
import { proposals, type ManifestEntry, type ProposedFile } from '../../../db/schema.ts'
import { requireRevision, type AppKey } from './find-revision.ts'

/** The newest: nobody waits for older ones. */
const LOOKED_AT = 20

/** Only those that the head had until now: the push after that says nothing again. */
export async function findUndone(
  tx: Transaction,
  key: AppKey,
  head: string | undefined,
  manifest: readonly ManifestEntry[],
): Promise<string[]> {
  const approved = await tx
    .select({ id: proposals.id, files: proposals.files })
    .from(proposals)
    .where(
      and(
        eq(proposals.orgId, key.orgId),
        eq(proposals.appId, key.appId),
        inArray(proposals.state, ['approved', 'deploying', 'deployed', 'failed']),
      ),
    )
    .orderBy(desc(proposals.id))
    .limit(LOOKED_AT)
  const undone = approved.filter(({ files }) => isUndoneIn(files, manifest))
  if (undone.length === 0 || head === undefined) return []
  const { manifest: before } = await requireRevision(tx, key, head)
  return undone.filter(({ files }) => !isUndoneIn(files, before)).map(({ id }) => id)
}

/** One of its files is as it was before it. Pure. */
export function isUndoneIn(files: readonly ProposedFile[], manifest: readonly ManifestEntry[]): boolean {
  const shas = new Map(manifest.map(([path, sha256]) => [path, sha256]))
  return files.some(({ path, before }) => (shas.get(path) ?? null) === before)
}
