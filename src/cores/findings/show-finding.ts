import { and, eq } from '../../../db/drizzle.ts'
import { findings } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireAppMaintenance } from '../maintenance/index.ts'
import { read, type Verb } from '../verb.ts'
import { presentFinding, SHOWN_COLUMNS } from './finding-rows.ts'

export const showFinding: Verb<'showFinding', WithDirectory> = read(
  'principal',
  async (context, { alias, finding_id }) => {
    const { db, principal } = context
    const { app, readsSource } = await requireAppMaintenance(context, db, principal, alias, {
      history: true,
    })
    const [row] = await db
      .select(SHOWN_COLUMNS)
      .from(findings)
      .where(and(eq(findings.orgId, app.orgId), eq(findings.appId, app.id), eq(findings.id, finding_id)))
    if (!row) throw notFound()
    return presentFinding(row, app, readsSource)
  },
)
