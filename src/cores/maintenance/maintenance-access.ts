/** The app of a call about its maintenance, and what whoever calls may see of it. */
import type { Handle } from '../../../db/connect.ts'
import type { Principal } from '../../contracts/operation.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import { findApp, requireApp, type App } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireMember } from '../principal.ts'
import { maintenanceOff, readSettings, readSwitch, type Settings } from './settings-rows.ts'

export type MaintenanceApp = {
  readonly app: App
  readonly settings: Settings
  /** In the organization, of this moment. */
  readonly role: Role | null
  /** Summaries, diffs and evidence may quote source and logs; others get codes, counts and digests. */
  readonly readsSource: boolean
}

/**
 * While the organization is off, its apps have no maintenance. `history`: of an app where it was on before, what happened
 * then can still be read.
 */
export async function requireAppMaintenance(
  { directory }: WithDirectory,
  db: Handle,
  principal: Principal,
  alias: string,
  { history = false } = {},
): Promise<MaintenanceApp> {
  const member = requireMember(principal)
  const settings = await readSettings(db, member.orgId)
  if (!settings.enabled && !(history && (await wasOn(db, member.orgId, alias)))) throw maintenanceOff()
  const { app, role, appRole } = await requireApp(directory, db, member, alias)
  const readsSource =
    mayReadQuotes(member) &&
    member.supportSessionId === undefined &&
    (appRole !== null || (role !== null && atLeast(role, 'developer')))
  return { app, settings, role, readsSource }
}

/** A token that starts runs, or decides, is answered without what it was not given to read. */
export const mayReadQuotes = ({ scopes }: Pick<Principal, 'scopes'>): boolean =>
  scopes === null || scopes.includes('maintenance:read')

async function wasOn(db: Handle, orgId: string, alias: string): Promise<boolean> {
  const app = await findApp(db, orgId, alias)
  return app !== undefined && (await readSwitch(db, app)) !== undefined
}
