import { recordNarrowing } from '../right-versions.ts'
import { write, type Verb } from '../verb.ts'
import { deleteGroup, lockGroup, refuseGivingRole } from './group-rows.ts'

export const removeGroup: Verb<'removeGroup'> = write(
  { author: 'admin', audit: 'group.removed' },
  async ({ tx, orgId, audit }, { group_id }) => {
    const group = await lockGroup(tx, orgId, group_id)
    await refuseGivingRole(tx, group)
    await deleteGroup(tx, group)
    await recordNarrowing(tx, 'group', { id: group_id, orgId, to: { name: null } })
    await audit('group.removed', group.name)
    return {}
  },
)
