/** Whether the agent can be asked to look at an app now, and its latest run. */
import type { Handle } from '../../../db/connect.ts'
import { readLatestRuns } from './app-maintenance.ts'
import { manualRunFrom } from './cool-down.ts'
import type { Run } from './run-rows.ts'
import { readSettings, readSwitch } from './settings-rows.ts'

export async function readAgent(
  db: Handle,
  app: { readonly orgId: string; readonly id: string },
  now: Date,
): Promise<{ readonly isOn: boolean; readonly from: Date | undefined; readonly latest: Run | undefined }> {
  const settings = await readSettings(db, app.orgId)
  const isOn = settings.enabled && ((await readSwitch(db, app))?.enabled ?? false)
  return {
    isOn,
    from: isOn ? await manualRunFrom(db, app, settings, now) : undefined,
    latest: (await readLatestRuns(db, app.orgId, [app.id])).get(app.id),
  }
}
