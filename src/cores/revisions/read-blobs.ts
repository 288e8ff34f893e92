/** Reads contents by their hashes. Whoever calls has found the hashes in a revision of the organization. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { sourceBlobs } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'

/** Not found where retention was faster: then the revision is gone, too. */
export async function readBlob(db: Handle, orgId: string, sha256: string): Promise<Buffer> {
  const [row] = await db
    .select({ content: sourceBlobs.content })
    .from(sourceBlobs)
    .where(and(eq(sourceBlobs.orgId, orgId), eq(sourceBlobs.sha256, sha256)))
  if (!row) throw notFound()
  return row.content
}

/** Hashes of one statement: the largest answer is as many megabytes. */
const BATCH = 16

export async function readBlobs(
  db: Handle,
  orgId: string,
  sha256: readonly string[],
  /** For whoever knows how large they are. */
  atOnce: number = BATCH,
): Promise<ReadonlyMap<string, Buffer>> {
  const contents = new Map<string, Buffer>()
  const asked = [...new Set(sha256)]
  for (let at = 0; at < asked.length; at += atOnce) {
    const batch = JSON.stringify(asked.slice(at, at + atOnce))
    const rows = await db
      .select({ sha256: sourceBlobs.sha256, content: sourceBlobs.content })
      .from(sourceBlobs)
      .where(
        and(
          eq(sourceBlobs.orgId, orgId),
          sql`${sourceBlobs.sha256} in (select json_array_elements_text(${batch}::json))`,
        ),
      )
    for (const row of rows) contents.set(row.sha256, row.content)
  }
  return contents
}
