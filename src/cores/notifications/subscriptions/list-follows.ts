import { and, eq, isNotNull, sql } from '../../../../db/drizzle.ts'
import { appMembers, apps, follows } from '../../../../db/schema.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { windowsAfter } from '../fan-out/digest-windows.ts'
import { readAppAccess } from '../people.ts'
import { list, type Verb } from '../../list.ts'
import { lastDeliveries, presentFollow } from './follow-rows.ts'

/** Apps that the person builds or maintains; of owners and admins all. */
export const listFollows: Verb<'listFollows', WithDirectory> = list(
  { rows: 'follows', asc: [apps.alias] },
  async ({ db, clock, member, orgId, userId, directory, page }, { following }) => {
    const access = await readAppAccess(directory, db, member)
    const organization = await directory.readOrganization(db, orgId)
    const { daily } = await windowsAfter(db, organization?.timezone ?? 'UTC', clock())
    return {
      ...(await page({
        from: () =>
          db
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
            ),
        where: and(
          eq(apps.orgId, orgId),
          access === 'all' ? undefined : isNotNull(appMembers.role),
          access === 'none' ? sql`false` : undefined,
          following ? isNotNull(follows.appId) : undefined,
        ),
        key: ({ app }) => [app.alias],
        present: async (rows) => {
          const ids = rows.map(({ app }) => app.id)
          const last = await lastDeliveries(db, member, ids)
          return rows.map(({ app, follow }) => presentFollow(app, follow, last))
        },
      })),
      next_daily_at: daily.toISOString(),
    }
  },
)
