import { and, eq } from '../../../db/drizzle.ts'
import { groupMembers } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { WithDirectory } from '../directory/index.ts'
import { recordNarrowing } from '../right-versions.ts'
import { write, type Verb } from '../verb.ts'
import { readGroupMembers } from './group-members.ts'
import { groupMemberRight, lockGroup } from './group-rows.ts'

export const removeGroupMember: Verb<'removeGroupMember', WithDirectory> = write(
  { author: 'admin', audit: 'group.member_removed' },
  async ({ tx, orgId, directory, audit }, { group_id, member_id }) => {
    const group = await lockGroup(tx, orgId, group_id)
    // As listed: with hosted auth also who was not validated lately.
    const found = (await readGroupMembers(directory, tx, orgId, [group_id])).find(
      ({ id, email }) => id === member_id || (email !== null && email.toLowerCase() === member_id),
    )
    if (!found) throw notFound()
    const column = found.kind === 'member' ? groupMembers.userId : groupMembers.membershipId
    await tx
      .delete(groupMembers)
      .where(and(eq(groupMembers.orgId, orgId), eq(groupMembers.groupId, group_id), eq(column, found.id)))
    await recordNarrowing(tx, 'group_member', groupMemberRight(orgId, group_id, found.id))
    await audit('group.member_removed', `${group.name}: ${found.email ?? found.name}`)
    return {}
  },
)
