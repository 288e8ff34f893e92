/** Takes again what a lost tail of the database gave back: a group, its old name, a place in it. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, ne, or, sql } from '../../../db/drizzle.ts'
import { groupMembers, groups } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import type { EndedRow } from '../record-ending.ts'
import { deleteGroup, isGroup } from './group-rows.ts'

export async function narrowGroupAgain(
  tx: Transaction,
  _clock: Clock,
  { id, orgId, to }: EndedRow,
): Promise<boolean> {
  const [group] = await tx.select().from(groups).where(isGroup(orgId!, id)).for('update')
  if (!group || group.name === to!.name) return false
  if (to!.name === null) await deleteGroup(tx, group)
  else {
    // Where another group has the name by now, it gets one that no row names: it must not keep the old one.
    const name = (await isTaken(tx, orgId!, id, to!.name!)) ? id : to!.name!
    await tx.update(groups).set({ name }).where(isGroup(orgId!, id))
  }
  return true
}

async function isTaken(tx: Transaction, orgId: string, id: string, name: string): Promise<boolean> {
  const others = await tx
    .select({ id: groups.id })
    .from(groups)
    .where(and(eq(groups.orgId, orgId), ne(groups.id, id), sql`lower(${groups.name}) = lower(${name})`))
  return others.length > 0
}

/** False: they are not in it. */
export async function removeGroupMemberAgain(
  tx: Transaction,
  _clock: Clock,
  { id, orgId }: EndedRow,
): Promise<boolean> {
  const [groupId, memberId] = id.split(' ') as [string, string]
  const removed = await tx
    .delete(groupMembers)
    .where(
      and(
        eq(groupMembers.orgId, orgId!),
        eq(groupMembers.groupId, groupId),
        // Of a person their own id, of a machine agent that of the agent.
        or(eq(groupMembers.userId, memberId), eq(groupMembers.membershipId, memberId)),
      ),
    )
    .returning({ groupId: groupMembers.groupId })
  return removed.length > 0
}
