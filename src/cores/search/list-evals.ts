import { and, isNotNull } from '../../../db/drizzle.ts'
import { evals } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { findSource } from '../databases/index.ts'
import { list, type Verb } from '../list.ts'
import { changesBetween, isEvalOf, lastLoadAt, modelsOf, newestEval, presentEval } from './eval-rows.ts'
import { presentThresholds } from './threshold.ts'

export const listEvals: Verb<'listEvals'> = list(
  { rows: 'evals', desc: [evals.id] },
  async ({ db, orgId, after, page }, { source_id }) => {
    const source = await findSource(db, orgId, source_id)
    if (!source) throw notFound()
    const newest = after ? undefined : await newestEval(db, source)
    const now = newest && {
      models: modelsOf(source),
      configuredAt: source.configuredAt,
      rows: null,
      rowsChangedAt: await lastLoadAt(db, source),
    }
    return {
      ...(await page({
        from: () => db.select().from(evals),
        where: and(isEvalOf(source), isNotNull(evals.finishedAt)),
        key: (row) => [row.id],
        present: (rows) => rows.map((row) => presentEval(row, source)),
      })),
      thresholds: presentThresholds(source),
      threshold_eval_id: source.threshold?.evalId ?? null,
      changes_since: newest && now ? changesBetween(newest, now) : [],
    }
  },
)
