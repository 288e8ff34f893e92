/** Ends SCIM of organizations. Members, their roles and their groups stay as they are. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { and, inArray, isNull } from '../../../db/drizzle.ts'
import {
  provisionedGroups,
  provisionedPeople as people,
  provisionedPlaces,
  scimBearers,
} from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { recordEnding } from '../record-ending.ts'

export async function revokeScimBearers(
  tx: Transaction,
  clock: Clock,
  which: SQL | undefined,
): Promise<readonly (typeof scimBearers.$inferSelect)[]> {
  const isLive = and(which, isNull(scimBearers.revokedAt))
  // Whatever a directory is doing at this moment holds its bearer, and is waited for.
  await tx.select({ id: scimBearers.id }).from(scimBearers).where(isLive).for('update')
  const revoked = await tx.update(scimBearers).set({ revokedAt: clock() }).where(isLive).returning()
  recordEnding(tx, 'scim_bearer', revoked)
  const orgIds = revoked.map(({ orgId }) => orgId)
  if (orgIds.length > 0) {
    await tx
      .update(people)
      .set({ deletedAt: clock() })
      .where(and(inArray(people.orgId, orgIds), isNull(people.deletedAt)))
    await tx.delete(provisionedPlaces).where(inArray(provisionedPlaces.orgId, orgIds))
    await tx.delete(provisionedGroups).where(inArray(provisionedGroups.orgId, orgIds))
  }
  return revoked
}
