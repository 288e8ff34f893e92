import { and, eq } from '../../../db/drizzle.ts'
import { findings } from '../../../db/schema.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireAppMaintenance } from '../maintenance/index.ts'
import { list, type Verb } from '../list.ts'
import { presentFinding, SHOWN_COLUMNS } from './finding-rows.ts'

export const listFindings: Verb<'listFindings', WithDirectory> = list(
  { by: 'principal', rows: 'findings', desc: [findings.id] },
  async (context, { alias, state }) => {
    const { db, principal, page } = context
    const { app, readsSource } = await requireAppMaintenance(context, db, principal, alias, {
      history: true,
    })
    return page({
      from: () => db.select(SHOWN_COLUMNS).from(findings),
      where: and(
        eq(findings.orgId, app.orgId),
        eq(findings.appId, app.id),
        state && eq(findings.state, state),
      ),
      key: (row) => [row.id],
      present: (rows) => rows.map((row) => presentFinding(row, app, readsSource)),
    })
  },
)
