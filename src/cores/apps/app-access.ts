/**
 * Who may do what with the things of an app: its source, deployments, logs, checks and pipelines. decisions, 13: to write,
 * people need part in the app, or admin; to read source and logs, developer, or part in the app. An app token has been let
 * in for an operation of its scope, and passes for its own app: any other does not exist for it.
 */
import type { Handle } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { apps } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Principal } from '../../contracts/operation.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { Directory } from '../directory/index.ts'
import { requireMember } from '../principal.ts'
import { requireApp, type App } from './find-app.ts'

/** For what whoever belongs to the organization may see. */
export async function requireAppReader(
  directory: Directory,
  db: Handle,
  principal: Principal,
  alias: string,
): Promise<App> {
  if (principal.app) return findTokensApp(db, principal, alias)
  return (await requireApp(directory, db, requireMember(principal), alias)).app
}

export async function requireAppWriter(
  directory: Directory,
  db: Handle,
  principal: Principal,
  alias: string,
): Promise<App> {
  if (principal.app) return findTokensApp(db, principal, alias)
  const { app, appRole } = await requireApp(directory, db, requireMember(principal), alias)
  if (appRole !== null) return app
  throw new ServiceError(
    'FORBIDDEN',
    'Only builders and maintainers of the app, owners and admins may do this',
  )
}

/** Of source and logs. Not for app tokens: a runner gets what it has claimed, and no more. Nor for support staff. */
export async function requireSourceReader(
  directory: Directory,
  db: Handle,
  principal: Principal,
  alias: string,
): Promise<App> {
  const member = requireMember(principal)
  if (member.supportSessionId !== undefined) {
    throw new ServiceError('FORBIDDEN', 'Support sessions may not do this')
  }
  const { app, role, appRole } = await requireApp(directory, db, member, alias)
  if (appRole !== null || (role !== null && atLeast(role, 'developer'))) return app
  throw new ServiceError(
    'FORBIDDEN',
    'Source and logs are for developers, and for builders and maintainers of the app',
  )
}

/** The app that an app token is for, where the call names none. */
export async function requireOwnApp(db: Handle, principal: Principal): Promise<App> {
  if (!principal.app) {
    throw new ServiceError('FORBIDDEN', 'This requires a token of the app', {
      hint: 'Create a reporting token on the app’s page.',
    })
  }
  return findTokensApp(db, principal)
}

async function findTokensApp(db: Handle, { orgId, app: own }: Principal, alias?: string): Promise<App> {
  const [app] =
    orgId === null || own === undefined
      ? []
      : await db
          .select()
          .from(apps)
          .where(and(eq(apps.orgId, orgId), eq(apps.id, own.id)))
  if (!app || (alias !== undefined && app.alias !== alias)) throw notFound()
  return app
}
