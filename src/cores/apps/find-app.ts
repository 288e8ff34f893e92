/** An app by its alias, and the role that a person has on it. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { appMembers, apps } from '../../../db/schema.ts'
import type { AppRole } from '../../contracts/apps.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import type { Directory } from '../directory/index.ts'
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

/** In the organization, null for who left it, and on the app. */
type Roles = { readonly role: Role | null; readonly appRole: EffectiveAppRole | null }

/** The app of a call, and the roles that the principal has now: those of the principal are as old as the call. */
export async function requireApp(
  directory: Directory,
  db: Handle,
  principal: MemberPrincipal,
  alias: string,
): Promise<Roles & { readonly app: App }> {
  const { role, supportSessionId } = principal
  const app = await findApp(db, principal.orgId, alias)
  if (!app) throw notFound()
  // Support staff have no role of their own: an old row of somebody who was once a member gives them none.
  if (supportSessionId !== undefined) return { app, role, appRole: effectiveRole(role, null) }
  return { app, ...(await readRoles(directory, db, principal, app.id)) }
}

/**
 * The role in the organization is read first: whoever left the organization, or was lowered, has lost their role on its
 * apps from that moment on, whatever rows are left.
 */
async function readRoles(
  directory: Directory,
  db: Handle,
  principal: MemberPrincipal,
  appId: string,
): Promise<Roles> {
  const membership = await directory.readMembership(db, principal)
  if (!membership) return { role: null, appRole: null }
  const { role, appMembershipId: membershipId } = membership
  const { orgId, userId } = principal
  const [row] =
    membershipId === null ? [] : await storedRole(db).execute({ orgId, appId, userId, membershipId })
  return { role, appRole: effectiveRole(role, row?.role ?? null) }
}

export const findAppRole = async (...of: Parameters<typeof readRoles>): Promise<EffectiveAppRole | null> =>
  (await readRoles(...of)).appRole

export const effectiveRole = (role: Role, appRole: AppRole | null): EffectiveAppRole | null =>
  atLeast(role, 'admin') ? 'administrator' : appRole

export function requireMaintainer(appRole: EffectiveAppRole | null): void {
  if (appRole === 'maintainer' || appRole === 'administrator') return
  throw new ServiceError('FORBIDDEN', 'Only maintainers of the app, owners and admins may do this')
}

export const hasAppMemberKey = (orgId: string, appId: string, userId: string) =>
  and(eq(appMembers.orgId, orgId), eq(appMembers.appId, appId), eq(appMembers.userId, userId))

/** By whom and of which app, as what is counted has it. */
export const appMemberRight = (orgId: string, appId: string, userId: string) => ({
  orgId,
  id: `${appId} ${userId}`,
})

const orgId = sql.placeholder('orgId')
const appId = sql.placeholder('appId')
const userId = sql.placeholder('userId')
const membershipId = sql.placeholder('membershipId')

const storedRole = preparedQuery((db) =>
  db
    .select({ role: appMembers.role })
    .from(appMembers)
    .where(
      and(
        eq(appMembers.orgId, orgId),
        eq(appMembers.appId, appId),
        eq(appMembers.userId, userId),
        eq(appMembers.membershipId, membershipId),
      ),
    )
    .prepare('app_role'),
)
