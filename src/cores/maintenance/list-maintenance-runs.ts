import { and, desc, inArray, lt } from '../../../db/drizzle.ts'
import { maintenanceRuns } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { outcomeOf, TERMINAL_CODES } from '../../contracts/outcomes.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { requireAppMaintenance } from './maintenance-access.ts'
import { countEvidence, isRunOfApp, presentRun } from './run-rows.ts'

export const listMaintenanceRuns =
  ({ db, directory }: Storage & WithDirectory): Handler<'listMaintenanceRuns'> =>
  async (principal, { alias, outcome, limit, cursor, count }) => {
    const before = readCursor(cursor, 1)?.[0]
    const { app, readsSource } = await requireAppMaintenance({ directory }, db, principal, alias, {
      history: true,
    })
    const codes = TERMINAL_CODES.filter((code) => outcomeOf(code).outcome === outcome)
    const matching = and(isRunOfApp(app), outcome && inArray(maintenanceRuns.terminalCode, codes))
    const rows = await db
      .select()
      .from(maintenanceRuns)
      .where(and(matching, before === undefined ? undefined : lt(maintenanceRuns.id, before)))
      .orderBy(desc(maintenanceRuns.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    const evidence = await countEvidence(db, page.rows)
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(maintenanceRuns).where(matching),
    )
    return {
      runs: page.rows.map((run) =>
        presentRun(run, { alias, evidenceRead: evidence.get(run.id) ?? 0, readsSource }),
      ),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
