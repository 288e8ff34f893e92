import type { Transaction } from '../../../db/connect.ts'
import { appLeases, appMaintenance } from '../../../db/schema.ts'
import type { App } from '../apps/index.ts'
import type { Clock } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { recordNarrowing, recordWidening } from '../right-versions.ts'
import { write, type Verb } from '../verb.ts'
import { presentAppMaintenance } from './app-maintenance.ts'
import { stopRuns } from './end-run.ts'
import { requireAppMaintenance } from './maintenance-access.ts'
import { recordChange } from './record-change.ts'
import { lockSettings, lockSwitch, maintenanceOff } from './settings-rows.ts'

export const updateAppMaintenance: Verb<'updateAppMaintenance', WithDirectory> = write(
  {
    author: 'admin',
    audit: ['maintenance.app_switched_on', 'maintenance.app_switched_off'],
    events: 'org.maintenance.changed',
  },
  async ({ tx, clock, orgId, member, principal, directory, audit }, { alias, enabled }) => {
    const found = await requireAppMaintenance({ directory }, tx, principal, alias)
    const settings = await lockSettings(tx, orgId, 'share')
    if (!settings.enabled) throw maintenanceOff()
    const wasEnabled = (await lockSwitch(tx, found.app, 'update'))?.enabled ?? false
    if (enabled !== wasEnabled) {
      await setSwitch(tx, clock, found.app, enabled)
      const right = { id: found.app.id, orgId }
      await (enabled
        ? recordWidening(tx, 'app_maintenance', right)
        : recordNarrowing(tx, 'app_maintenance', right))
      await recordChange(tx, clock, member, found.app.id)
      await audit(enabled ? 'maintenance.app_switched_on' : 'maintenance.app_switched_off', alias)
    }
    return presentAppMaintenance(tx, { ...found, settings }, clock())
  },
)

async function setSwitch(tx: Transaction, clock: Clock, app: App, enabled: boolean): Promise<void> {
  const { orgId, id: appId } = app
  const changedAt = clock()
  await tx
    .insert(appMaintenance)
    .values({ orgId, appId, enabled, changedAt })
    .onConflictDoUpdate({ target: [appMaintenance.orgId, appMaintenance.appId], set: { enabled, changedAt } })
  // From here on there is a row to lock, whoever may hold it.
  await tx.insert(appLeases).values({ orgId, appId }).onConflictDoNothing()
  if (!enabled) await stopRuns(tx, clock, { orgId, appId, reason: 'APP_SWITCHED_OFF' })
}
