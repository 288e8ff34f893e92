/** Takes again what a lost tail of the database gave back: an active person, a place in a group, the role of a group. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import {
  provisionedGroups,
  provisionedPeople as people,
  provisionedPlaces as places,
} from '../../../db/schema.ts'
import { SCIM_ROLES, type ScimRole } from '../../contracts/scim.ts'
import type { Clock } from '../dependencies.ts'
import type { EndedRow } from '../record-ending.ts'

/** The membership has an ending of its own. */
export async function deactivateAgain(
  tx: Transaction,
  clock: Clock,
  { id, orgId }: EndedRow,
): Promise<boolean> {
  const changed = await tx
    .update(people)
    .set({ active: false, updatedAt: clock() })
    .where(and(eq(people.orgId, orgId!), eq(people.id, id), eq(people.active, true)))
    .returning({ id: people.id })
  return changed.length > 0
}

export async function takePlaceAgain(
  tx: Transaction,
  _clock: Clock,
  { id, orgId }: EndedRow,
): Promise<boolean> {
  const [groupId, personId] = id.split(' ') as [string, string]
  const taken = await tx
    .delete(places)
    .where(and(eq(places.orgId, orgId!), eq(places.groupId, groupId), eq(places.personId, personId)))
    .returning({ id: places.personId })
  return taken.length > 0
}

/** Those who had a role by it have endings of their own. */
export async function lowerGroupRoleAgain(
  tx: Transaction,
  _clock: Clock,
  { id, orgId, to }: EndedRow,
): Promise<boolean> {
  const role = to!.role as ScimRole | null
  const isIt = and(eq(provisionedGroups.orgId, orgId!), eq(provisionedGroups.groupId, id))
  const [group] = await tx.select().from(provisionedGroups).where(isIt).for('update')
  const isHigher =
    group?.role != null && (role === null || SCIM_ROLES.indexOf(group.role) > SCIM_ROLES.indexOf(role))
  if (!isHigher) return false
  await tx.update(provisionedGroups).set({ role }).where(isIt)
  return true
}
