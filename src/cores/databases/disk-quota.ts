/** Whether an organization may go on writing to its managed databases. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, isNotNull } from '../../../db/drizzle.ts'
import { diskUse } from '../../../db/schema.ts'
import type { SourceKind } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'

/** Only those on a server have a quota. */
export async function isOverDiskQuota(db: Handle, orgId: string, kind: SourceKind): Promise<boolean> {
  if (kind !== 'postgres') return false
  const over = await db
    .select({ orgId: diskUse.orgId })
    .from(diskUse)
    .where(and(eq(diskUse.orgId, orgId), isNotNull(diskUse.overSince)))
  return over.length > 0
}

export async function requireDiskQuota(db: Handle, orgId: string, kind: SourceKind): Promise<void> {
  if (!(await isOverDiskQuota(db, orgId, kind))) return
  throw new ServiceError('CONFLICT', 'The databases of the organization are over their disk quota', {
    hint: 'Remove a database that is no longer needed, or ask whoever runs this installation for more.',
  })
}
