/** Rows of groups, and how the API returns them. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, count, eq, isNotNull } from '../../../db/drizzle.ts'
import { groupMembers, groups, provisionedGroups, provisionedPlaces } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'

export type GroupRow = typeof groups.$inferSelect

/** Of two of one name. */
export const TAKEN = { groups_by_name: 'A group of this name exists already' }

export const isGroup = (orgId: string, id: string) => and(eq(groups.orgId, orgId), eq(groups.id, id))

export async function requireGroup(db: Handle, orgId: string, id: string): Promise<GroupRow> {
  const [group] = await db.select().from(groups).where(isGroup(orgId, id))
  if (!group) throw notFound()
  return group
}

/** So that nobody is added to a group that is being removed. */
export async function lockGroup(tx: Transaction, orgId: string, id: string): Promise<GroupRow> {
  const [group] = await tx.select().from(groups).where(isGroup(orgId, id)).for('update')
  if (!group) throw notFound()
  return group
}

/** With everybody's place in it. */
export async function deleteGroup(tx: Transaction, { orgId, id }: GroupRow): Promise<void> {
  await tx.delete(groupMembers).where(and(eq(groupMembers.orgId, orgId), eq(groupMembers.groupId, id)))
  await tx
    .delete(provisionedPlaces)
    .where(and(eq(provisionedPlaces.orgId, orgId), eq(provisionedPlaces.groupId, id)))
  await tx
    .delete(provisionedGroups)
    .where(and(eq(provisionedGroups.orgId, orgId), eq(provisionedGroups.groupId, id)))
  await tx.delete(groups).where(isGroup(orgId, id))
}

/** Those in it would keep a role that nothing gives any more. */
export async function refuseGivingRole(tx: Transaction, { orgId, id }: GroupRow): Promise<void> {
  const [giving] = await tx
    .select({ role: provisionedGroups.role })
    .from(provisionedGroups)
    .where(
      and(
        eq(provisionedGroups.orgId, orgId),
        eq(provisionedGroups.groupId, id),
        isNotNull(provisionedGroups.role),
      ),
    )
  if (!giving) return
  throw new ServiceError('CONFLICT', 'This group gives a role by SCIM', {
    hint: 'An owner sets its role to none first, or the directory deletes the group.',
  })
}

/** The place of a member, or of a machine agent, in a group. */
export const groupMemberRight = (orgId: string, groupId: string, memberId: string) => ({
  id: `${groupId} ${memberId}`,
  orgId,
})

export const presentGroup = ({ id, name, createdAt }: GroupRow, members: number) => ({
  id,
  name,
  members,
  created_at: createdAt.toISOString(),
})

export async function countStored(db: Handle, { orgId, id }: GroupRow): Promise<number> {
  const [found] = await db
    .select({ n: count() })
    .from(groupMembers)
    .where(and(eq(groupMembers.orgId, orgId), eq(groupMembers.groupId, id)))
  return found!.n
}
