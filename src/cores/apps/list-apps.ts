import { and, eq, isNotNull } from '../../../db/drizzle.ts'
import { appMembers, apps } from '../../../db/schema.ts'
import type { WithDirectory } from '../directory/index.ts'
import { list, type Verb } from '../list.ts'
import { effectiveRole } from './find-app.ts'
import { presentApp, appRows } from './present-app.ts'

export const listApps: Verb<'listApps', WithDirectory> = list(
  { rows: 'apps', asc: [apps.alias], search: [apps.alias, apps.name] },
  async ({ db, member, orgId, directory, page }, { mine }) => {
    const membershipId = (await directory.readMembership(db, member))?.appMembershipId ?? null
    return page({
      from: () => appRows(db, member, membershipId),
      where: and(eq(apps.orgId, orgId), mine ? isNotNull(appMembers.userId) : undefined),
      key: (row) => [row.app.alias],
      present: (rows) =>
        rows.map(({ app, appRole, openTickets }) =>
          presentApp(app, effectiveRole(member.role, appRole), openTickets),
        ),
    })
  },
)
