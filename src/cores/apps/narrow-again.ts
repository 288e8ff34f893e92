/** Takes a role on an app again that a lost tail of the database gave back. False: they have none, or no higher one. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { appMembers } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import type { EndedRow } from '../record-ending.ts'
import { hasAppMemberKey } from './find-app.ts'

export async function narrowAppMemberAgain(
  tx: Transaction,
  _clock: Clock,
  { id, orgId, to }: EndedRow,
): Promise<boolean> {
  const [appId, userId] = id.split(' ') as [string, string]
  const isIt = hasAppMemberKey(orgId!, appId, userId)
  const changed =
    to!.role === null
      ? await tx.delete(appMembers).where(isIt).returning()
      : await tx
          .update(appMembers)
          .set({ role: 'builder' })
          .where(and(isIt, eq(appMembers.role, 'maintainer')))
          .returning()
  return changed.length > 0
}
