/** The tool `maintenance_status`: settings and runs of one app, or one run and what it read. */
import * as z from 'zod'
import { appAlias } from '../../src/contracts/apps.ts'
import { notFound } from '../../src/contracts/errors.ts'
import { idPattern } from '../../src/contracts/ids.ts'
import {
  showAppMaintenance,
  showMaintenanceRun,
  listMaintenanceRuns,
} from '../../src/contracts/maintenance.ts'
import { fitPage } from '../answer-size.ts'
import { hidePattern, tool, type ToolContext } from '../tool.ts'
import { runLine, showRun, showWholeRun } from './maintenance-runs.ts'

const RUNS = 10

export const maintenanceStatus = tool({
  name: 'maintenance_status',
  resource: 'platform',
  title: 'Maintenance status',
  description: 'Settings and runs of one app, newest first; with run_id one run and what it read.',
  operations: [showAppMaintenance, listMaintenanceRuns, showMaintenanceRun],
  input: z.strictObject({
    app: hidePattern(appAlias.alias).describe('Alias from app_list.'),
    run_id: z.string().max(60).optional(),
    cursor: z.string().max(1_000).optional(),
  }),
  isUntrusted: true,
  notFoundText: 'No such app or run. Call app_list.',
  async run({ app, run_id, cursor }, { call }) {
    if (run_id === undefined) return readStatus(call, app, cursor)
    // An invalid id is answered like an unknown one.
    if (!idPattern('exec').test(run_id)) throw notFound()
    return showWholeRun(await call(showMaintenanceRun, { alias: app, execution_id: run_id }))
  },
})

async function readStatus(call: ToolContext['call'], alias: string, cursor: string | undefined) {
  const { settings, latest_run, app, ...status } = await call(showAppMaintenance, { alias })
  const shown = { app, enabled: settings.enabled, ...status, latest_run: latest_run && showRun(latest_run) }
  return fitPage(
    RUNS,
    async (limit) => {
      const page = await call(listMaintenanceRuns, { alias, limit, cursor })
      return { rows: page.runs, next_cursor: page.next_cursor }
    },
    (rows) => ({ ...shown, runs: rows.map(runLine) }),
  )
}
