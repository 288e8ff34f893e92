/** One step of a run with what was asked and answered, for those who may read source and logs. */
import { and, eq } from '../../../db/drizzle.ts'
import { runSteps } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { requireSourceReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { presentStep, requireAppMaintenance, requireRun } from '../maintenance/index.ts'
import { read, type Verb } from '../verb.ts'
import { openTranscript } from './record-step.ts'

export const showRunStep: Verb<'showRunStep', WithDirectory & { readonly dataKeys: DataKeys }> = read(
  'principal',
  async (context, { alias, execution_id, number }) => {
    const { db, principal, directory, dataKeys } = context
    const { app } = await requireAppMaintenance(context, db, principal, alias, { history: true })
    await requireSourceReader(directory, db, principal, alias)
    const run = await requireRun(db, app, execution_id)
    const [step] = await db
      .select()
      .from(runSteps)
      .where(
        and(eq(runSteps.orgId, app.orgId), eq(runSteps.executionId, run.id), eq(runSteps.number, number)),
      )
    if (!step) throw notFound()
    const transcript = openTranscript(dataKeys, step)
    return {
      ...presentStep(step),
      request: transcript?.request ?? null,
      answer: transcript?.answer ?? null,
    }
  },
)
