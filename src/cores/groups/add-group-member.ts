import { and, eq } from '../../../db/drizzle.ts'
import { groupMembers } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { GROUP_MEMBERS_MAX } from '../../contracts/limits.ts'
import type { WithDirectory } from '../directory/index.ts'
import { recordWidening } from '../right-versions.ts'
import { write, type Verb } from '../verb.ts'
import { findGroupMember, presentGroupMember } from './group-members.ts'
import { countStored, groupMemberRight, lockGroup } from './group-rows.ts'

export const addGroupMember: Verb<'addGroupMember', WithDirectory> = write(
  { author: 'admin', audit: 'group.member_added' },
  async ({ tx, clock, orgId, directory, audit }, { group_id, member_id }) => {
    const group = await lockGroup(tx, orgId, group_id)
    const found = await findGroupMember(directory, tx, orgId, member_id)
    if (!found) throw notFound()
    const { userId, membershipId } = found
    // Nobody is added while they are being removed. With hosted auth also: only who was validated lately.
    if (found.kind === 'member' && !(await directory.lockMember(tx, found))) throw notFound()
    const [stored] = await tx
      .select()
      .from(groupMembers)
      .where(
        and(
          eq(groupMembers.orgId, orgId),
          eq(groupMembers.groupId, group_id),
          eq(groupMembers.userId, userId),
        ),
      )
    // One that the directory gave is given by hand from now on: it stays when the directory takes its own.
    const existing = stored?.membershipId === membershipId && !stored.provisioned ? stored : undefined
    const addedAt = existing?.addedAt ?? clock()
    if (!existing) {
      if (!stored && (await countStored(tx, group)) >= GROUP_MEMBERS_MAX) {
        throw new ServiceError('CONFLICT', `A group has at most ${GROUP_MEMBERS_MAX} members`)
      }
      await tx
        .insert(groupMembers)
        .values({ orgId, groupId: group_id, userId, membershipId, addedAt, provisioned: false })
        .onConflictDoUpdate({
          target: [groupMembers.orgId, groupMembers.groupId, groupMembers.userId],
          set: { membershipId, addedAt, provisioned: false },
        })
      await recordWidening(tx, 'group_member', groupMemberRight(orgId, group_id, found.id))
      await audit('group.member_added', `${group.name}: ${found.email ?? found.name}`)
    }
    return presentGroupMember({ ...found, addedAt })
  },
)
