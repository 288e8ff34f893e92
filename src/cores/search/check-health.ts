/** Looks at a data source's tables for what keeps a search from finding: at most once in some minutes, and in bounded time. */
import { and, eq, isNull, lte, or } from '../../../db/drizzle.ts'
import { dataSourceHealth } from '../../../db/schema.ts'
import type { SearchEntry } from '../../contracts/data-sources.ts'
import type { SourceProblem } from '../../contracts/source-health.ts'
import { openSource, type Queries, type SourceRow } from '../databases/index.ts'
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import { checkAgainstDatabase, type ConfigurationDeps } from './check-against-database.ts'
import { parseTableName, quoteTable } from './quote.ts'
import { countIn } from './read-rows.ts'
import { failureOf, failureProblem, isHealthOf, recordFailure } from './source-health.ts'
import type { TableInfo } from './table-info.ts'
import { wordsProblem } from './words-problem.ts'

const CHECK_EVERY_MS = 5 * 60_000
/** After so long no further table is begun. */
const CHECK_MS = 5_000
/** Rows that are counted. Of a larger table the planner's statistics are asked. */
const COUNTED_MAX = 100_000

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
    .values({ orgId: source.orgId, sourceId: source.id, checkBegan })
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
    .where(and(isHealthOf(source), eq(dataSourceHealth.checkBegan, began)))
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
    const counted = await countVectors(queries, entry, tableInfo)
    found.push(...vectorProblems(entry, counted))
    const words = await wordsProblem(queries, entry, tableInfo)
    if (words) found.push({ ...words, text: `${entry.label}: ${words.text}` })
    for (const { table, rows, text, statement } of checked.advice) {
      if (table !== entry.table || counted.rows < rows || found.some((one) => one.statement === statement)) {
        continue
      }
      found.push({ kind: 'missing_index', text: `${entry.label}: ${text}: ${statement}`, statement })
    }
  }
}

type Counted = { readonly rows: number; readonly without: number; readonly isEstimated: boolean }

async function countVectors(
  queries: Queries,
  { table, columns: [vector] }: SearchEntry,
  tableInfo: TableInfo,
): Promise<Counted> {
  const [counted] = await queries.query<{ rows: number; without: number }>(
    `select count(*)::int as rows, (count(*) - count(v))::int as without ` +
      `from (select ${quoteIdentifier(vector!)} as v from ${quoteTable(table)} limit ${COUNTED_MAX + 1}) counted`,
  )
  const [rows, without] = [countIn(counted, 'rows'), countIn(counted, 'without')]
  if (rows <= COUNTED_MAX) return { rows, without, isEstimated: false }
  const name = parseTableName(table)
  const [known] = await queries.query<{ share: number }>(
    'select null_frac::float8 as share from pg_catalog.pg_stats where schemaname = $1 and tablename = $2 and attname = $3',
    [name.schema, name.table, vector!],
  )
  const all = Math.max(rows, tableInfo.rows)
  return { rows: all, without: Math.round(all * (known?.share ?? without / rows)), isEstimated: true }
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
