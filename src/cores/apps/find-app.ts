/** An app by its alias, and the role that a person has on it. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { appMembers, apps, memberships } from '../../../db/schema.ts'
import type { AppRole } from '../../contracts/apps.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { atLeast, lowerOf, type Role } from '../../contracts/roles.ts'
import { preparedQuery } from '../prepared-query.ts'
import type { MemberPrincipal } from '../principal.ts'

export type App = typeof apps.$inferSelect
/** Owners and admins administer every app. */
export type EffectiveAppRole = AppRole | 'administrator'

export async function findApp(db: Handle, orgId: string, alias: string): Promise<App | undefined> {
  const [app] = await db
    .select()
    .from(apps)
    .where(and(eq(apps.orgId, orgId), eq(apps.alias, alias)))
  return app
}

/** The app of a call and the principal's role on it. A token that is capped below its person administers nothing. */
export async function requireApp(
  db: Handle,
  principal: MemberPrincipal,
  alias: string,
): Promise<{ app: App; appRole: EffectiveAppRole | null }> {
  const { orgId, userId, role, supportSessionId } = principal
  const app = await findApp(db, orgId, alias)
  if (!app) throw notFound()
  // Support staff have no role of their own: an old row of somebody who was once a member gives them none.
  if (supportSessionId !== undefined) return { app, appRole: effectiveRole(role, null) }
  return { app, appRole: await findAppRole(db, { orgId, appId: app.id, userId }, role) }
}

/**
 * The membership is read first, in the transaction of the caller: whoever left the organization, or was lowered, has
 * lost their role on its apps from that moment on, whatever rows are left. `cap` is the role of a token.
 */
export async function findAppRole(
  db: Handle,
  person: { orgId: string; appId: string; userId: string },
  cap: Role = 'owner',
): Promise<EffectiveAppRole | null> {
  const [membership] = await membershipRole(db).execute(person)
  if (!membership) return null
  const [row] = await storedRole(db).execute(person)
  return effectiveRole(lowerOf(membership.role, cap), row?.role ?? null)
}

export const effectiveRole = (role: Role, appRole: AppRole | null): EffectiveAppRole | null =>
  atLeast(role, 'admin') ? 'administrator' : appRole

export function requireMaintainer(appRole: EffectiveAppRole | null): void {
  if (appRole === 'maintainer' || appRole === 'administrator') return
  throw new ServiceError('FORBIDDEN', 'Only maintainers of the app, owners and admins may do this')
}

export const isAppMember = (orgId: string, appId: string, userId: string) =>
  and(eq(appMembers.orgId, orgId), eq(appMembers.appId, appId), eq(appMembers.userId, userId))

const orgId = sql.placeholder('orgId')
const appId = sql.placeholder('appId')
const userId = sql.placeholder('userId')

const membershipRole = preparedQuery((db) =>
  db
    .select({ role: memberships.role })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
    .prepare('membership_role'),
)
const storedRole = preparedQuery((db) =>
  db
    .select({ role: appMembers.role })
    .from(appMembers)
    .where(and(eq(appMembers.orgId, orgId), eq(appMembers.appId, appId), eq(appMembers.userId, userId)))
    .prepare('app_role'),
)
