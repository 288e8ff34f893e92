/** An app by its alias, and who a person is to it. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { appMembers, apps, memberships } from '../../../db/schema.ts'
import type { AppRole } from '../../contracts/apps.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import { builtOnce } from '../built-once.ts'

export type App = typeof apps.$inferSelect
export type Part = AppRole | 'administrator'

export async function findApp(db: Handle, orgId: string, alias: string): Promise<App | undefined> {
  const [app] = await db
    .select()
    .from(apps)
    .where(and(eq(apps.orgId, orgId), eq(apps.alias, alias)))
  return app
}

/**
 * Read together with the membership: whoever leaves the organization, or is removed from it, is nobody to its apps from
 * that moment on, whatever rows are left.
 */
export async function partIn(
  db: Handle,
  who: { orgId: string; appId: string; userId: string },
): Promise<Part | null> {
  const [row] = await parts(db).execute(who)
  return row ? partOf(row.role, row.appRole) : null
}

export const partOf = (role: Role, appRole: AppRole | null): Part | null =>
  atLeast(role, 'admin') ? 'administrator' : appRole

const parts = builtOnce((db) =>
  db
    .select({ role: memberships.role, appRole: appMembers.role })
    .from(memberships)
    .innerJoin(apps, and(eq(apps.orgId, memberships.orgId), eq(apps.id, sql.placeholder('appId'))))
    .leftJoin(
      appMembers,
      and(
        eq(appMembers.orgId, apps.orgId),
        eq(appMembers.appId, apps.id),
        eq(appMembers.userId, memberships.userId),
      ),
    )
    .where(
      and(
        eq(memberships.orgId, sql.placeholder('orgId')),
        eq(memberships.userId, sql.placeholder('userId')),
      ),
    )
    .prepare('part_in_app'),
)
