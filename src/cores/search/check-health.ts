/** Looks at a data source's tables for what keeps a search from finding: at most once in some minutes, and in bounded time. */
import { keptLocally, locally } from '../../../db/commit-locally.ts'
import { and, eq, isNull, lte, or, sql } from '../../../db/drizzle.ts'
import { dataSourceHealth } from '../../../db/schema.ts'
import type { SearchEntry } from '../../contracts/data-sources.ts'
import type { SourceProblem } from '../../contracts/source-health.ts'
import { openSource, type SourceRow } from '../databases/index.ts'
import { checkAgainstDatabase, type ConfigurationDeps } from './check-against-database.ts'
import { countVectors, type Counted } from './count-vectors.ts'
import { longTextsProblem } from './long-texts-problem.ts'
import { failureOf, failureProblem, isHealthOf, recordFailure } from './source-health.ts'
import { refreshWordStatistics } from './word-statistics.ts'
import { wordsProblem } from './words-problem.ts'

const CHECK_EVERY_MS = 5 * 60_000
/** After so long no further table is begun. */
const CHECK_MS = 5_000

/** Never fails: what keeps it from looking is what there is to tell. */
export async function checkHealth(deps: ConfigurationDeps, source: SourceRow): Promise<void> {
  if (source.preparingUntil !== null) return
  try {
    const began = await beginCheck(deps, source)
    if (began) await finishCheck(deps, source, began, await problemsOf(deps, source))
  } catch (error) {
    deps.log.warn('a data source could not be checked', { source: source.id, error })
  }
}

/** One process makes it; undefined where none is due. */
async function beginCheck({ db, clock }: ConfigurationDeps, source: SourceRow): Promise<Date | undefined> {
  const checkBegan = clock()
  const due = new Date(checkBegan.getTime() - CHECK_EVERY_MS)
  const [taken] = await db
    .insert(dataSourceHealth)
    .values({ orgId: keptLocally(sql`${source.orgId}`), sourceId: source.id, checkBegan })
    .onConflictDoUpdate({
      target: [dataSourceHealth.orgId, dataSourceHealth.sourceId],
      set: { checkBegan },
      setWhere: or(isNull(dataSourceHealth.checkBegan), lte(dataSourceHealth.checkBegan, due))!,
    })
    .returning({ sourceId: dataSourceHealth.sourceId })
  return taken && checkBegan
}

/** Not over the result of a later one, nor that of a configuration that was replaced meanwhile. */
async function finishCheck(
  { db, clock }: ConfigurationDeps,
  source: SourceRow,
  began: Date,
  problems: readonly SourceProblem[],
): Promise<void> {
  await db
    .update(dataSourceHealth)
    .set({ problems, checkedAt: clock() })
    .where(and(isHealthOf(source), eq(dataSourceHealth.checkBegan, began), locally))
}

async function problemsOf(deps: ConfigurationDeps, source: SourceRow): Promise<readonly SourceProblem[]> {
  const found: SourceProblem[] = []
  try {
    await addProblems(deps, source, found)
  } catch (error) {
    const failure = failureOf(error)
    if (!failure) throw error
    await recordFailure(deps, source, failure)
    found.push(failureProblem(failure))
  }
  return found
}

async function addProblems(
  deps: ConfigurationDeps,
  source: SourceRow,
  found: SourceProblem[],
): Promise<void> {
  const queries = openSource(deps, source)
  if (!source.configuration) return void (await queries.query('select 1 as one'))
  const checked = await checkAgainstDatabase(deps, queries, source.configuration)
  found.push(...checked.problems)
  const until = deps.clock().getTime() + CHECK_MS
  for (const entry of checked.fitting) {
    if (deps.clock().getTime() > until) return
    const tableInfo = checked.tables.get(entry.table)!
    const [vector] = entry.columns
    const counted = await countVectors(queries, { table: entry.table, vector }, tableInfo)
    if (vector !== undefined) found.push(...vectorProblems(entry, counted))
    const words = await wordsProblem(queries, entry, tableInfo)
    if (words) found.push({ ...words, text: `${entry.label}: ${words.text}` })
    const long = await longTextsProblem(queries, source, entry, tableInfo)
    if (long) found.push(long)
    for (const { table, rows, text, statement } of checked.advice) {
      if (table !== entry.table || counted.rows < rows || found.some((one) => one.statement === statement)) {
        continue
      }
      found.push({ kind: 'missing_index', text: `${entry.label}: ${text}: ${statement}`, statement })
    }
  }
  await refreshWordStatistics(deps, queries, source, checked.tables)
}

function vectorProblems({ label, dimensions }: SearchEntry, counted: Counted): SourceProblem[] {
  const { rows, without, isEstimated } = counted
  if (without === rows) {
    const text = `${label}: no row has a vector of ${dimensions} dimensions, so nothing is found`
    return [{ kind: 'dimension_without_rows', text }]
  }
  if (without === 0) return []
  const [some, all] = [without, rows].map((n) => n.toLocaleString('en'))
  const text = `${label}: ${isEstimated ? 'about ' : ''}${some} of ${all} rows have no vector and are never found`
  return [{ kind: 'rows_without_vectors', text }]
}
