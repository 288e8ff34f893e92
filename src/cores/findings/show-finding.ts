import { and, eq } from '../../../db/drizzle.ts'
import { findings } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireAppMaintenance } from '../maintenance/index.ts'
import { presentFinding, SHOWN_COLUMNS } from './finding-rows.ts'

export const showFinding =
  (deps: Storage & WithDirectory): Handler<'showFinding'> =>
  async (principal, { alias, finding_id }) => {
    const { app, readsSource } = await requireAppMaintenance(deps, deps.db, principal, alias, {
      history: true,
    })
    const [row] = await deps.db
      .select(SHOWN_COLUMNS)
      .from(findings)
      .where(and(eq(findings.orgId, app.orgId), eq(findings.appId, app.id), eq(findings.id, finding_id)))
    if (!row) throw notFound()
    return presentFinding(row, app, readsSource)
  }
