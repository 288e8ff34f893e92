/** The tool `app_list`: the apps, with what maintenance did last and what waits for a decision. */
import * as z from 'zod'
import { PAGE_DEFAULT } from '../../src/contracts/limits.ts'
import { listAppMaintenance } from '../../src/contracts/maintenance.ts'
import { fitPage } from '../answer-size.ts'
import { tool } from '../tool.ts'
import { runLine } from './maintenance-runs.ts'

export const appList = tool({
  name: 'app_list',
  resource: 'platform',
  title: 'List apps',
  description: 'List apps with maintenance state, last run and open proposals.',
  operations: [listAppMaintenance],
  input: z.strictObject({ cursor: z.string().max(1_000).optional() }),
  // People choose the names of apps.
  isUntrusted: true,
  run({ cursor }, { call, principal }) {
    return fitPage(
      PAGE_DEFAULT,
      async (limit) => {
        const page = await call(listAppMaintenance, { org_id: principal.orgId, limit, cursor })
        return { rows: page.apps, next_cursor: page.next_cursor }
      },
      (rows) => ({
        apps: rows.map(({ latest_run, ...app }) => ({
          ...app,
          latest_run: latest_run && runLine(latest_run),
        })),
      }),
    )
  },
})
