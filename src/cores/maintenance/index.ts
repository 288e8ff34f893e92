/** What the maintenance core exports. */
export { claimRun, hasQueuedRun } from './claim-run.ts'
export { startMaintenanceRun } from './start-maintenance-run.ts'
export { dispatchSlots } from './dispatch-slots.ts'
export { endRun, endUnconfigured, expireRuns, STOPPED_STEP, type RunEnding } from './end-run.ts'
export { showAppMaintenance } from './show-app-maintenance.ts'
export { showMaintenanceRun } from './show-maintenance-run.ts'
export { showMaintenanceSettings } from './show-maintenance-settings.ts'
export { showMaintenanceUsage } from './show-maintenance-usage.ts'
export { Fenced, heldLease, renewLease, requireHeld, underLease, type RunKey } from './lease.ts'
export { listAppMaintenance } from './list-app-maintenance.ts'
export { listMaintenanceRuns } from './list-maintenance-runs.ts'
export { mayReadQuotes, requireAppMaintenance } from './maintenance-access.ts'
export { isRun, requireRun, type Run } from './run-rows.ts'
export { reserveRunTokens, settleRunTokens } from './run-tokens.ts'
export {
  lockSettings,
  maintenanceOff,
  readSettings,
  type MaintenanceModel,
  type Settings,
  type WithMaintenanceModels,
} from './settings-rows.ts'
export { sweepMaintenance } from './sweep-maintenance.ts'
export { updateAppMaintenance } from './update-app-maintenance.ts'
export { updateMaintenanceSettings } from './update-maintenance-settings.ts'
