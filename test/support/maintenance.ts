/** Apps under maintenance for tests: turned on, claimed, and ended as an agent runner would. */
import { randomUUID } from 'node:crypto'
import { ne } from '../../db/drizzle.ts'
import { appLeases, maintenanceRuns, maintenanceSettings } from '../../db/schema.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { updateAppMaintenance, updateMaintenanceSettings } from '../../src/contracts/maintenance.ts'
import { RULES_MODEL } from '../../src/contracts/outcomes.ts'
import { claimRun, endRun, type RunEnding, type RunKey } from '../../src/cores/maintenance/index.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { unique, type Org } from './make.ts'
import type { TestSystem } from './system.ts'

export const turnOn = (org: Org, settings: object = {}) =>
  org.owner.call(updateMaintenanceSettings, {
    org_id: org.id,
    enabled: true,
    model: RULES_MODEL,
    ...settings,
  })

/** An app that is on, in an organization that is. */
export async function makeMaintainedApp(
  org: Org,
  alias = unique('app'),
): Promise<{ id: string; alias: string }> {
  const { id } = await org.owner.call(createApp, { alias, name: 'Shop' })
  await org.owner.call(updateAppMaintenance, { alias, enabled: true })
  return { id, alias }
}

export const storageOf = ({ db, clock }: TestSystem) => ({ db, clock: () => clock.now() })

/** The next run of the queue, as an agent runner takes it. */
export async function claimNextRun(
  system: TestSystem,
  models: readonly string[] = [RULES_MODEL],
): Promise<RunKey & { readonly model: string; readonly startedAt: Date }> {
  const claimed = await claimRun(storageOf(system), { claimId: randomUUID(), models })
  if (!claimed) throw new Error('no run waits')
  return { ...claimed.key, model: claimed.run.model, startedAt: claimed.run.startedAt! }
}

export const endAs = (
  system: TestSystem,
  run: RunKey,
  code: RunEnding['code'],
  ending: Partial<RunEnding> = {},
) => withTransaction(system.db, (tx) => endRun(tx, () => system.clock.now(), run, { code, ...ending }))

/** What other tests left would be claimed, or due, in the next one. */
export async function endEverything({ db, clock }: TestSystem): Promise<void> {
  await db.update(maintenanceSettings).set({ nextSlotAt: null })
  await db.update(appLeases).set({ executionId: null, expiresAt: null })
  await db
    .update(maintenanceRuns)
    .set({ status: 'ended', terminalCode: 'skipped', endedAt: clock.now() })
    .where(ne(maintenanceRuns.status, 'ended'))
}
