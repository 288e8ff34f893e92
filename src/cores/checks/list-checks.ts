import { and, eq } from '../../../db/drizzle.ts'
import { checks } from '../../../db/schema.ts'
import { requireApp } from '../apps/index.ts'
import { list, type Verb } from '../list.ts'
import { presentCheck, seesQuery } from './check-rows.ts'
import type { ChecksDeps } from './checks-deps.ts'

export const listChecks: Verb<'listChecks', ChecksDeps> = list(
  { rows: 'checks', asc: [checks.name] },
  async ({ db, clock, member, directory, judge, page }, { alias }) => {
    const { app, appRole } = await requireApp(directory, db, member, alias)
    const seen = { now: clock(), seesQuery: seesQuery(member, appRole !== null) }
    return page({
      from: () => db.select().from(checks),
      where: and(eq(checks.orgId, app.orgId), eq(checks.appId, app.id)),
      key: (row) => [row.name],
      present: (rows) => Promise.all(rows.map((row) => presentCheck({ judge, db }, row, seen))),
    })
  },
)
