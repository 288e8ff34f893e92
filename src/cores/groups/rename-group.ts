import { groups } from '../../../db/schema.ts'
import type { WithDirectory } from '../directory/index.ts'
import { recordNarrowing } from '../right-versions.ts'
import { write, type Verb } from '../verb.ts'
import { countGroupMembers } from './group-members.ts'
import { isGroup, lockGroup, presentGroup, TAKEN } from './group-rows.ts'

export const renameGroup: Verb<'renameGroup', WithDirectory> = write(
  { author: 'admin', audit: 'group.renamed', taken: TAKEN },
  async ({ tx, orgId, directory, audit }, { group_id, name }) => {
    const group = await lockGroup(tx, orgId, group_id)
    if (group.name !== name) {
      await tx.update(groups).set({ name }).where(isGroup(orgId, group_id))
      // Rows that name it as before are not for its members any more.
      await recordNarrowing(tx, 'group', { id: group_id, orgId, to: { name } })
      await audit('group.renamed', `${group.name} to ${name}`)
    }
    const counts = await countGroupMembers(directory, tx, orgId, [group_id])
    return presentGroup({ ...group, name }, counts.get(group_id) ?? 0)
  },
)
