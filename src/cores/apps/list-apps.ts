import { and, asc, eq, gt, ilike, isNotNull, or } from '../../../db/drizzle.ts'
import { appMembers, apps } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { totalOf } from '../total-of.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { likePattern } from '../like-pattern.ts'
import { effectiveRole } from './find-app.ts'
import { presentApp, appRows } from './present-app.ts'

export const listApps =
  ({ db, directory }: Storage & WithDirectory): Handler<'listApps'> =>
  async (principal, { search, mine, limit, cursor, count }) => {
    const member = requireMember(principal)
    const after = readCursor(cursor, 1)?.[0]
    const membershipId = (await directory.readMembership(db, member))?.appMembershipId ?? null
    const matching = and(
      eq(apps.orgId, member.orgId),
      search ? or(ilike(apps.alias, likePattern(search)), ilike(apps.name, likePattern(search))) : undefined,
      mine ? isNotNull(appMembers.userId) : undefined,
    )
    const rows = await appRows(db, member, membershipId)
      .where(and(matching, after === undefined ? undefined : gt(apps.alias, after)))
      .orderBy(asc(apps.alias))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.app.alias])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      appRows(db, member, membershipId).where(matching),
    )
    return {
      apps: page.rows.map(({ app, appRole, openTickets }) =>
        presentApp(app, effectiveRole(member.role, appRole), openTickets),
      ),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
