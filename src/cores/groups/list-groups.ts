import { eq } from '../../../db/drizzle.ts'
import { groups } from '../../../db/schema.ts'
import type { WithDirectory } from '../directory/index.ts'
import { list, type Verb } from '../list.ts'
import { countGroupMembers } from './group-members.ts'
import { presentGroup } from './group-rows.ts'

export const listGroups: Verb<'listGroups', WithDirectory> = list(
  { rows: 'groups', asc: [groups.name, groups.id], search: [groups.name] },
  async ({ db, orgId, directory, page }) =>
    page({
      from: () => db.select().from(groups),
      where: eq(groups.orgId, orgId),
      key: ({ name, id }) => [name, id],
      present: async (rows) => {
        const ids = rows.map(({ id }) => id)
        const counts = await countGroupMembers(directory, db, orgId, ids)
        return rows.map((row) => presentGroup(row, counts.get(row.id) ?? 0))
      },
    }),
)
