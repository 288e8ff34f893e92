import { and, isNotNull } from '../../../db/drizzle.ts'
import { evals } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { findSource } from '../databases/index.ts'
import { list, type Verb } from '../list.ts'
import {
  changesBetween,
  isEvalOf,
  modelsOf,
  newestEval,
  presentEval,
  rowsChangedAt,
  type RowsDeps,
} from './eval-rows.ts'
import { presentThresholds } from './threshold.ts'

export const listEvals: Verb<'listEvals', RowsDeps> = list(
  { rows: 'evals', desc: [evals.id] },
  async (context, { source_id }) => {
    const { db, orgId, after, page } = context
    const source = await findSource(db, orgId, source_id)
    if (!source) throw notFound()
    const newest = after ? undefined : await newestEval(db, source)
    const now = newest && {
      models: modelsOf(source),
      configuredAt: source.configuredAt,
      rows: null,
      // A database that does not answer now says nothing of it, and takes nothing from the list.
      rowsChangedAt: await rowsChangedAt(context, source).catch(() => null),
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
