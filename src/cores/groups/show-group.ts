import type { WithDirectory } from '../directory/index.ts'
import { read, type Verb } from '../verb.ts'
import { presentGroupMember, readGroupMembers } from './group-members.ts'
import { requireGroup } from './group-rows.ts'

export const showGroup: Verb<'showGroup', WithDirectory> = read(
  async ({ db, orgId, directory }, { group_id }) => {
    const { id, name, createdAt } = await requireGroup(db, orgId, group_id)
    const members = await readGroupMembers(directory, db, orgId, [id])
    return { id, name, created_at: createdAt.toISOString(), members: members.map(presentGroupMember) }
  },
)
