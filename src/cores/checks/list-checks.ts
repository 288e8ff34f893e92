import { and, asc, eq, gt } from '../../../db/drizzle.ts'
import { checks } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireApp } from '../apps/index.ts'
import { requireMember } from '../principal.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { presentCheck, seesQuery } from './check-rows.ts'
import type { ChecksDeps } from './checks-deps.ts'

export const listChecks =
  ({ db, clock, directory, judge }: ChecksDeps): Handler<'listChecks'> =>
  async (principal, { alias, limit, cursor, count }) => {
    const member = requireMember(principal)
    const after = readCursor(cursor, 1)?.[0]
    const { app, appRole } = await requireApp(directory, db, member, alias)
    const matching = and(eq(checks.orgId, app.orgId), eq(checks.appId, app.id))
    const rows = await db
      .select()
      .from(checks)
      .where(and(matching, after === undefined ? undefined : gt(checks.name, after)))
      .orderBy(asc(checks.name))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.name])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(checks).where(matching),
    )
    const seen = { now: clock(), seesQuery: seesQuery(member, appRole !== null) }
    return {
      checks: await Promise.all(page.rows.map((row) => presentCheck({ judge, db }, row, seen))),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
