import { and, eq, isNull, lt, or } from '../../../db/drizzle.ts'
import { evals } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { openSource, type SourceRow } from '../databases/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { findAskable, requireMinimumRole } from './askable-sources.ts'
import { countVectors } from './count-vectors.ts'
import { isEvalOf, modelsOf, presentEval, rowsChangedAt, type SourceState } from './eval-rows.ts'
import { failingAsSource, requireEntries, type SearchDeps } from './search-entries.ts'

/** One that nobody asked on for so long is over. */
const UNFINISHED_MS = 24 * 60 * 60_000

/** Of a source that whoever starts it may ask: its questions are theirs. */
export const startEval: Verb<'startEval', SearchDeps> = writeInSteps(
  {},
  async (context, { source_id, questions }) => {
    const { db, clock, orgId, userId, member, principal, transaction } = context
    const { source } = await findAskable(db, member, source_id)
    requireMinimumRole(member, source)
    const state = await stateOf(context, source)
    const now = clock()
    return transaction(async ({ tx }) => {
      const isOver = or(
        eq(evals.createdBy, userId),
        lt(evals.createdAt, new Date(now.getTime() - UNFINISHED_MS)),
      )
      await tx.delete(evals).where(and(isEvalOf(source), isNull(evals.finishedAt), isOver))
      const [started] = await tx
        .insert(evals)
        .values({
          orgId,
          id: makeId('evl', now.getTime()),
          sourceId: source.id,
          questions,
          totals: { answerable: 0, recall: 0, reciprocal: 0 },
          ...state,
          createdBy: userId,
          createdByName: principal.userName,
          createdAt: now,
        })
        .returning()
      return presentEval(started!, source)
    })
  },
)

async function stateOf(deps: SearchDeps, source: SourceRow): Promise<SourceState> {
  const entries = requireEntries(source)
  const queries = openSource(deps, source)
  return failingAsSource(async () => {
    const counts = new Map<string, number | null>()
    for (const { table, columns } of entries) {
      if (counts.has(table)) continue
      const tableInfo = await deps.tableInfo.read(queries, table, deps.clock())
      const counted = tableInfo && (await countVectors(queries, { table, vector: columns[0]! }, tableInfo))
      counts.set(table, counted && !counted.isEstimated ? counted.rows : null)
    }
    const known = [...counts.values()]
    return {
      models: modelsOf(source),
      configuredAt: source.configuredAt,
      rows: known.includes(null) ? null : known.reduce<number>((sum, rows) => sum + (rows ?? 0), 0),
      rowsChangedAt: await rowsChangedAt(deps, source),
    }
  })
}
