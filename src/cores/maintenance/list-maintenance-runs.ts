import { and, inArray } from '../../../db/drizzle.ts'
import { maintenanceRuns } from '../../../db/schema.ts'
import { outcomeOf, TERMINAL_CODES } from '../../contracts/outcomes.ts'
import type { WithDirectory } from '../directory/index.ts'
import { list, type Verb } from '../list.ts'
import { requireAppMaintenance } from './maintenance-access.ts'
import { countEvidence, isRunOfApp, presentRun } from './run-rows.ts'

export const listMaintenanceRuns: Verb<'listMaintenanceRuns', WithDirectory> = list(
  { by: 'principal', rows: 'runs', desc: [maintenanceRuns.id] },
  async ({ db, principal, directory, page }, { alias, outcome }) => {
    const { app, readsSource } = await requireAppMaintenance({ directory }, db, principal, alias, {
      history: true,
    })
    const codes = TERMINAL_CODES.filter((code) => outcomeOf(code).outcome === outcome)
    return page({
      from: () => db.select().from(maintenanceRuns),
      where: and(isRunOfApp(app), outcome && inArray(maintenanceRuns.terminalCode, codes)),
      key: (row) => [row.id],
      present: async (rows) => {
        const evidence = await countEvidence(db, rows)
        return rows.map((run) =>
          presentRun(run, { alias, evidenceRead: evidence.get(run.id) ?? 0, readsSource }),
        )
      },
    })
  },
)
