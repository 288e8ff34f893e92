/** An app by its alias, and who a person is to it. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { appMembers, apps, memberships } from '../../../db/schema.ts'
import type { AppRole } from '../../contracts/apps.ts'
import { notFound } from '../../contracts/errors.ts'
import { atLeast, lowerOf, type Role } from '../../contracts/roles.ts'
import { builtOnce } from '../built-once.ts'
import type { MemberCaller } from '../caller.ts'

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

/** The app of a call and the caller's part in it. A token that is capped below its person administers nothing. */
export async function appFor(
  db: Handle,
  caller: MemberCaller,
  alias: string,
): Promise<{ app: App; part: Part | null }> {
  const app = await findApp(db, caller.orgId, alias)
  if (!app) throw notFound()
  // Support staff have no part of their own: an old row of somebody who was a member once gives them none.
  if (caller.supportSessionId !== undefined) return { app, part: partOf(caller.role, null) }
  const [row] = await parts(db).execute({ orgId: caller.orgId, appId: app.id, userId: caller.userId })
  return { app, part: row ? partOf(lowerOf(row.role, caller.role), row.appRole) : null }
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
      and(eq(memberships.orgId, sql.placeholder('orgId')), eq(memberships.userId, sql.placeholder('userId'))),
    )
    .prepare('part_in_app'),
)
