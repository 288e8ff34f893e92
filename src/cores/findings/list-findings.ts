import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { findings } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireAppMaintenance } from '../maintenance/index.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { presentFinding, SHOWN_COLUMNS } from './finding-rows.ts'

export const listFindings =
  (deps: Storage & WithDirectory): Handler<'listFindings'> =>
  async (principal, { alias, state, limit, cursor, count }) => {
    const { db } = deps
    const before = readCursor(cursor, 1)?.[0]
    const { app, readsSource } = await requireAppMaintenance(deps, deps.db, principal, alias, {
      history: true,
    })
    const matching = and(
      eq(findings.orgId, app.orgId),
      eq(findings.appId, app.id),
      state && eq(findings.state, state),
    )
    const rows = await db
      .select(SHOWN_COLUMNS)
      .from(findings)
      .where(and(matching, before === undefined ? undefined : lt(findings.id, before)))
      .orderBy(desc(findings.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(findings).where(matching),
    )
    return {
      findings: page.rows.map((row) => presentFinding(row, app, readsSource)),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
