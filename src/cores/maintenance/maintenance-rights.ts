/** What the maintenance agent may: whether it is on, which files its proposals touch, and who decides about them. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { appMaintenance, maintenanceSettings } from '../../../db/schema.ts'
import { MAINTENANCE } from '../../contracts/limits.ts'
import type { Clock } from '../dependencies.ts'
import type { EndedRow } from '../record-ending.ts'
import { recordNarrowing, recordWidening } from '../right-versions.ts'
import { stopRuns } from './end-run.ts'
import { lockOrCreateSettings, type Settings } from './settings-rows.ts'

type Rights = Pick<Settings, 'enabled' | 'mcpDecisions' | 'allowedClasses' | 'protectedPaths'>

export async function recordRightsChange(tx: Transaction, before: Settings, after: Settings): Promise<void> {
  const right = { id: before.orgId, orgId: before.orgId }
  if (withoutMore(before, after))
    await recordNarrowing(tx, 'maintenance', { ...right, to: writeRights(after) })
  else if (withoutMore(after, before)) await recordWidening(tx, 'maintenance', right)
}

/** After a lost tail. False: it may no more than that. */
export async function narrowMaintenanceAgain(
  tx: Transaction,
  clock: Clock,
  { id: orgId, to }: EndedRow,
): Promise<boolean> {
  const before = await lockOrCreateSettings(tx, orgId)
  const less = withoutMore(before, readRights(to!))
  if (!less) return false
  const nextSlotAt = less.enabled ? before.nextSlotAt : null
  await tx
    .update(maintenanceSettings)
    .set({ ...less, nextSlotAt })
    .where(eq(maintenanceSettings.orgId, orgId))
  await notify(tx, 'schedules')
  if (before.enabled && !less.enabled) await turnAppsOff(tx, clock, orgId)
  return true
}

/** After a lost tail. False: it is not on. */
export async function turnAppOffAgain(
  tx: Transaction,
  clock: Clock,
  { id: appId, orgId }: EndedRow,
): Promise<boolean> {
  const isOn = and(
    eq(appMaintenance.orgId, orgId!),
    eq(appMaintenance.appId, appId),
    eq(appMaintenance.enabled, true),
  )
  const turnedOff = await tx
    .update(appMaintenance)
    .set({ enabled: false, changedAt: clock() })
    .where(isOn)
    .returning({ appId: appMaintenance.appId })
  if (turnedOff.length === 0) return false
  await stopRuns(tx, clock, { orgId: orgId!, appId, reason: 'APP_SWITCHED_OFF' })
  return true
}

export async function turnAppsOff(tx: Transaction, clock: Clock, orgId: string): Promise<void> {
  await tx
    .update(appMaintenance)
    .set({ enabled: false, changedAt: clock() })
    .where(and(eq(appMaintenance.orgId, orgId), eq(appMaintenance.enabled, true)))
  await stopRuns(tx, clock, { orgId, reason: 'ORGANIZATION_SWITCHED_OFF' })
}

/** What is left of `before` where `after` allows less; undefined where it does not. */
function withoutMore(before: Rights, after: Rights): Rights | undefined {
  const isNewlyProtected = after.protectedPaths.some((path) => !before.protectedPaths.includes(path))
  const left: Rights = {
    enabled: before.enabled && after.enabled,
    mcpDecisions: after.mcpDecisions === 'link' ? 'link' : before.mcpDecisions,
    allowedClasses: before.allowedClasses.filter((name) => after.allowedClasses.includes(name)),
    // Those that were chosen last first: of too many the others go.
    protectedPaths: isNewlyProtected
      ? [...new Set([...after.protectedPaths, ...before.protectedPaths])].slice(
          0,
          MAINTENANCE.protectedPathsMax,
        )
      : before.protectedPaths,
  }
  const isSame =
    !isNewlyProtected &&
    left.enabled === before.enabled &&
    left.mcpDecisions === before.mcpDecisions &&
    left.allowedClasses.length === before.allowedClasses.length
  return isSame ? undefined : left
}

type Written = NonNullable<EndedRow['to']>

const writeRights = ({ enabled, mcpDecisions, allowedClasses, protectedPaths }: Rights): Written => ({
  enabled: String(enabled),
  mcpDecisions,
  allowedClasses: JSON.stringify(allowedClasses),
  protectedPaths: JSON.stringify(protectedPaths),
})

const readRights = (written: Written): Rights => ({
  enabled: written.enabled === 'true',
  mcpDecisions: written.mcpDecisions === 'direct' ? 'direct' : 'link',
  allowedClasses: JSON.parse(written.allowedClasses!) as Rights['allowedClasses'],
  protectedPaths: JSON.parse(written.protectedPaths!) as string[],
})
