/** The exact lines that a run read, with their hash. */
import { notFound } from '../../contracts/errors.ts'
import { requireSourceReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireAppMaintenance, requireRun } from '../maintenance/index.ts'
import { read, type Verb } from '../verb.ts'
import { openEvidence, readEvidence, type WithDataKeys } from './evidence-rows.ts'

export const showRunEvidence: Verb<'showRunEvidence', WithDirectory & WithDataKeys> = read(
  'principal',
  async (context, { alias, execution_id, ref }) => {
    const { db, principal, directory, dataKeys } = context
    const { app } = await requireAppMaintenance(context, db, principal, alias, { history: true })
    await requireSourceReader(directory, db, principal, alias)
    const run = await requireRun(db, app, execution_id)
    const [row] = await readEvidence(db, { orgId: app.orgId, executionId: run.id }, [ref])
    if (!row) throw notFound()
    return {
      ref: row.ref,
      kind: row.kind,
      location: row.location,
      from_line: row.fromLine,
      to_line: row.toLine,
      sha256: row.sha256,
      pinned: row.pinned,
      text: openEvidence(dataKeys, row),
    }
  },
)
