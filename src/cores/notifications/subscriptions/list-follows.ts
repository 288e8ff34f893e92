import { and, asc, eq, gt, isNotNull, sql } from '../../../../db/drizzle.ts'
import { appMembers, apps, follows } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { pageOf, readCursor } from '../../../contracts/paging.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { windowsAfter } from '../fan-out/digest-windows.ts'
import { readAppAccess } from '../people.ts'
import { lastDeliveries, presentFollow } from './follow-rows.ts'

/** Apps that the person builds or maintains; of owners and admins all. */
export const listFollows =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'listFollows'> =>
  async (who, { following, limit, cursor }) => {
    const principal = requireMember(who)
    const { orgId, userId } = principal
    const after = readCursor(cursor, 1)?.[0]
    const access = await readAppAccess(directory, db, principal)
    const rows = await db
      .select({ app: apps, follow: follows })
      .from(apps)
      .leftJoin(
        appMembers,
        and(
          eq(appMembers.orgId, apps.orgId),
          eq(appMembers.appId, apps.id),
          eq(appMembers.userId, userId),
          typeof access === 'string' ? undefined : eq(appMembers.membershipId, access.membershipId),
        ),
      )
      .leftJoin(
        follows,
        and(eq(follows.orgId, apps.orgId), eq(follows.appId, apps.id), eq(follows.userId, userId)),
      )
      .where(
        and(
          eq(apps.orgId, orgId),
          access === 'all' ? undefined : isNotNull(appMembers.role),
          access === 'none' ? sql`false` : undefined,
          following ? isNotNull(follows.appId) : undefined,
          after === undefined ? undefined : gt(apps.alias, after),
        ),
      )
      .orderBy(asc(apps.alias))
      .limit(limit + 1)
    const page = pageOf(rows, limit, ({ app }) => [app.alias])
    const last = await lastDeliveries(
      db,
      principal,
      page.rows.map(({ app }) => app.id),
    )
    const organization = await directory.readOrganization(db, orgId)
    const { daily } = await windowsAfter(db, organization?.timezone ?? 'UTC', clock())
    return {
      follows: page.rows.map(({ app, follow }) => presentFollow(app, follow, last)),
      next_daily_at: daily.toISOString(),
      next_cursor: page.next_cursor,
    }
  }
