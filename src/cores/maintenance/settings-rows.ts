/** The settings of an organization and of an app, as the operations find and return them. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { appMaintenance, maintenanceSettings } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { MAINTENANCE } from '../../contracts/limits.ts'
import { nextDueAt } from '../schedule.ts'

export type Settings = typeof maintenanceSettings.$inferSelect

/** The models that an organization may choose: those of the operator, and the built-in rules. */
export type MaintenanceModel = { readonly name: string; readonly proposes: boolean }
export type WithMaintenanceModels = { readonly maintenanceModels: readonly MaintenanceModel[] }

const defaults = (orgId: string): Settings => ({
  orgId,
  enabled: false,
  model: null,
  nightlyCron: MAINTENANCE.nightlyCron,
  timezone: MAINTENANCE.timezone,
  cooldownHours: MAINTENANCE.cooldownHours,
  tokenAllowance: MAINTENANCE.tokenAllowance,
  protectedPaths: [],
  allowedClasses: [],
  mcpDecisions: 'link',
  nextSlotAt: null,
})

/** Without a row it was never turned on, and has the defaults. */
export async function readSettings(db: Handle, orgId: string): Promise<Settings> {
  const [row] = await db.select().from(maintenanceSettings).where(eq(maintenanceSettings.orgId, orgId))
  return row ?? defaults(orgId)
}

/** Until the end of the transaction nobody changes them. */
export async function lockSettings(
  tx: Handle,
  orgId: string,
  strength: 'share' | 'update',
): Promise<Settings> {
  const [row] = await tx
    .select()
    .from(maintenanceSettings)
    .where(eq(maintenanceSettings.orgId, orgId))
    .for(strength)
  return row ?? defaults(orgId)
}

/** The row itself is what two first changes wait for. */
export async function lockOrCreateSettings(tx: Transaction, orgId: string): Promise<Settings> {
  await tx
    .insert(maintenanceSettings)
    .values(await readSettings(tx, orgId))
    .onConflictDoNothing()
  return lockSettings(tx, orgId, 'update')
}

const isApp = ({ orgId, id }: { orgId: string; id: string }) =>
  and(eq(appMaintenance.orgId, orgId), eq(appMaintenance.appId, id))

/** Undefined: it was never on. */
export async function readSwitch(
  db: Handle,
  app: { orgId: string; id: string },
): Promise<{ readonly enabled: boolean } | undefined> {
  const [row] = await db.select({ enabled: appMaintenance.enabled }).from(appMaintenance).where(isApp(app))
  return row
}

export async function lockSwitch(
  tx: Handle,
  app: { orgId: string; id: string },
  strength: 'share' | 'update',
): Promise<{ readonly enabled: boolean } | undefined> {
  const [row] = await tx
    .select({ enabled: appMaintenance.enabled })
    .from(appMaintenance)
    .where(isApp(app))
    .for(strength)
  return row
}

export const maintenanceOff = () => new ServiceError('MAINTENANCE_AGENT_NOT_FOUND')

export const nextSlotAfter = (
  { enabled, nightlyCron, timezone }: Pick<Settings, 'enabled' | 'nightlyCron' | 'timezone'>,
  after: Date,
): Date | null => (enabled ? (nextDueAt(nightlyCron, timezone, after) ?? null) : null)
