import { and, eq } from '../../../db/drizzle.ts'
import { groupMembers, groups } from '../../../db/schema.ts'
import { write, type Verb } from '../verb.ts'
import { isGroup, lockGroup } from './group-rows.ts'

export const removeGroup: Verb<'removeGroup'> = write(
  { author: 'admin', audit: 'group.removed' },
  async ({ tx, orgId, audit }, { group_id }) => {
    const group = await lockGroup(tx, orgId, group_id)
    await tx
      .delete(groupMembers)
      .where(and(eq(groupMembers.orgId, orgId), eq(groupMembers.groupId, group_id)))
    await tx.delete(groups).where(isGroup(orgId, group_id))
    await audit('group.removed', group.name)
    return {}
  },
)
