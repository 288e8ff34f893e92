/** Rows of evals, and the state of the source that each is compared by. */
import type * as z from 'zod'
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, isNotNull, sql } from '../../../db/drizzle.ts'
import { evals, loads } from '../../../db/schema.ts'
import type { EvalChange, startEval } from '../../contracts/evals.ts'
import { openSource, sourceIdOf, type SourceDeps, type SourceRow } from '../databases/index.ts'
import { readVersion } from '../documents/index.ts'

export type EvalRow = typeof evals.$inferSelect

export const isEvalOf = ({ orgId, id }: Pick<SourceRow, 'orgId' | 'id'>) =>
  and(eq(evals.orgId, orgId), eq(evals.sourceId, id))

export function presentEval(row: EvalRow, source: SourceRow): z.input<typeof startEval.output> {
  const { answerable, recall, reciprocal } = row.totals
  const mean = (sum: number) => (answerable === 0 ? null : Math.round((sum / answerable) * 10_000) / 10_000)
  return {
    id: row.id,
    source_id: sourceIdOf(source.name),
    questions: row.questions,
    asked: row.asked,
    recall_at_5: mean(recall),
    mrr: mean(reciprocal),
    rows: row.rows,
    changes: [...row.changes],
    created_by: row.createdByName,
    created_at: row.createdAt.toISOString(),
    finished_at: row.finishedAt?.toISOString() ?? null,
  }
}

export type SourceState = Pick<EvalRow, 'models' | 'configuredAt' | 'rows' | 'rowsChangedAt'>

export const modelsOf = ({ configuration }: SourceRow): string[] =>
  [
    ...new Set(configuration?.connection_config.embedding_configs.flatMap(({ model }) => model ?? []) ?? []),
  ].toSorted()

/** By the version that is published, of documents; otherwise by the newest load or undo, as far back as loads are kept. */
export async function rowsChangedAt(deps: RowsDeps, source: SourceRow): Promise<Date | null> {
  if (source.documents === null) return lastLoadAt(deps.db, source)
  const { publishedAt } = await readVersion(openSource(deps, source))
  return publishedAt === null ? null : new Date(publishedAt)
}

export type RowsDeps = SourceDeps & { readonly db: Handle }

async function lastLoadAt(db: Handle, { orgId, id }: SourceRow): Promise<Date | null> {
  const [found] = await db
    .select({
      at: sql<number | null>`(extract(epoch from max(greatest(${loads.finishedAt},
        (${loads.plan} ->> 'undoneAt')::timestamptz))) * 1000)::float8`,
    })
    .from(loads)
    .where(
      and(
        eq(loads.orgId, orgId),
        eq(loads.sourceId, id),
        eq(loads.state, 'succeeded'),
        sql`coalesce(${loads.plan} ->> 'dryRun', 'false') = 'false'`,
      ),
    )
  return found?.at == null ? null : new Date(found.at)
}

export const newestEval = async (db: Handle, source: SourceRow): Promise<EvalRow | undefined> =>
  (
    await db
      .select()
      .from(evals)
      .where(and(isEvalOf(source), isNotNull(evals.finishedAt)))
      .orderBy(desc(evals.id))
      .limit(1)
  )[0]

/** Loads are not kept for ever: one that is no longer known has changed nothing. */
export function changesBetween(before: SourceState, now: SourceState): EvalChange[] {
  const changes: EvalChange[] = []
  const configuredAt = now.configuredAt?.toISOString() ?? null
  if (before.models.join('\n') !== now.models.join('\n')) changes.push({ what: 'model', at: configuredAt })
  else if ((before.configuredAt?.getTime() ?? 0) !== (now.configuredAt?.getTime() ?? 0)) {
    changes.push({ what: 'configuration', at: configuredAt })
  }
  const isLoaded = (now.rowsChangedAt?.getTime() ?? 0) > (before.rowsChangedAt?.getTime() ?? 0)
  if (isLoaded) changes.push({ what: 'rows', at: now.rowsChangedAt!.toISOString() })
  else if (before.rows !== null && now.rows !== null && before.rows !== now.rows) {
    changes.push({ what: 'rows', at: null })
  }
  return changes
}
