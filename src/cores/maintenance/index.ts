/** What the maintenance core exports. */
export { countOpen } from './app-maintenance.ts'
export { readChangers } from './record-change.ts'
export { claimRun, hasQueuedRun } from './claim-run.ts'
export { dispatchSlots } from './dispatch-slots.ts'
export { endRun, endUnconfigured, expireRuns, STOPPED_STEP, type RunEnding } from './end-run.ts'
export { Fenced, heldLease, renewLease, requireHeld, underLease, type RunKey } from './lease.ts'
export { narrowMaintenanceAgain, turnAppOffAgain } from './maintenance-rights.ts'
export { mayReadQuotes, requireAppMaintenance } from './maintenance-access.ts'
export { readAgent } from './read-agent.ts'
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
export { presentStep } from './show-maintenance-run.ts'
export { sweepMaintenance } from './sweep-maintenance.ts'
