/** Checks all rows together, finds the types of the columns, and makes the table that the rows become. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { ColumnType, StoredPlan } from '../../../db/schema.ts'
import { LOAD_PROBLEMS_SHOWN } from '../../contracts/limits.ts'
import type { Queries } from '../databases/index.ts'
import type { LoadRow } from './load-rows.ts'
import { withProblems } from './read-step.ts'
import { idColumn } from './search-entry.ts'
import { finalTable, literal, rowsTable, stagedTable } from './staging.ts'
import { LoadFailed, type Step } from './step.ts'
import { columnTypeIn, readTarget, targetProblems, type Target } from './target-table.ts'

/** As people write numbers. One with a leading zero is a name: 007. */
const NUMBER = `^-?(0|[1-9][0-9]{0,14})([.][0-9]{1,15})?$`
const BOOLEAN = '^(true|false)$'
const PATTERNS: Record<Exclude<ColumnType, 'text'>, string> = { numeric: NUMBER, boolean: BOOLEAN }

export const checkStep: Step = async ({ queries, plan }, load) => {
  const target = plan.append ? await readTarget(queries, plan.table) : undefined
  if (plan.append && targetProblems(plan, target).length > 0) throw new LoadFailed('table_changed')
  const problems = [
    ...(load.rows === 0 && load.problemCount === 0 ? [`line ${load.readLines}: the file has no rows`] : []),
    ...(await problemsOfAll(queries, load, plan, target)),
  ]
  const found = withProblems(load, problems)
  if (found.problemCount > 0) throw new LoadFailed('file', { ...found, problems: inOrder(found.problems) })
  const types = target
    ? plan.columns.map(({ name }) => columnTypeIn(target, name)!)
    : await findTypes(queries, load, plan)
  const columns = plan.columns.map((column, at) => ({ ...column, type: types[at]! }))
  const typed = { ...plan, columns }
  await queries.query(createTable(load.id, typed))
  return { plan: typed, phase: 'embedding', embedded: 0 }
}

const lineOf = (problem: string): number => Number(/^line (\d+)/.exec(problem)?.[1] ?? 0)
const inOrder = (problems: readonly string[]) =>
  problems.toSorted((one, other) => lineOf(one) - lineOf(other))

async function problemsOfAll(
  queries: Queries,
  load: LoadRow,
  plan: StoredPlan,
  target: Target | undefined,
): Promise<string[]> {
  if (plan.id === -1) return []
  const rows = rowsTable(load.id)
  const id = `cells ->> ${plan.id}`
  const limit = `limit ${LOAD_PROBLEMS_SHOWN}`
  const twice = await queries.query<{ line: string; first: string }>(
    `select line::text, first::text from (
        select n, line, first_value(line) over same as first, row_number() over same as place
        from ${rows} window same as (partition by ${id} order by n)) numbered
      where place > 1 order by n ${limit}`,
  )
  const problems = twice.map(({ line, first }) => `line ${line}: the id is that of line ${first}`)
  if (!target) return problems
  const present = await queries.query<{ line: string }>(
    `select line::text from ${rows} r
      where exists (select from ${finalTable(plan.table)} t where t.${quoteIdentifier(idColumn(plan))}::text = r.${id})
      order by n ${limit}`,
  )
  problems.push(...present.map(({ line }) => `line ${line}: the table has a row with this id`))
  for (const [at, { name }] of plan.columns.entries()) {
    const type = columnTypeIn(target, name)
    if (type === undefined || type === 'text') continue
    const wrong = await queries.query<{ line: string }>(
      `select line::text from ${rows} where cells ->> ${at} <> '' and cells ->> ${at} !~ ${literal(PATTERNS[type])} order by n ${limit}`,
    )
    const what = type === 'numeric' ? 'a number' : 'true or false'
    problems.push(...wrong.map(({ line }) => `line ${line}: column ${name} of the table is ${what}`))
  }
  return problems
}

async function findTypes(
  queries: Queries,
  load: LoadRow,
  { columns, id }: StoredPlan,
): Promise<ColumnType[]> {
  const fits = (at: number, pattern: string) =>
    `coalesce(bool_and(cells ->> ${at} ~ ${literal(pattern)}) filter (where cells ->> ${at} <> ''), false)::text`
  const [found] = await queries.query<Record<string, string>>(
    `select ${columns.map((_, at) => `${fits(at, NUMBER)} as n${at}, ${fits(at, BOOLEAN)} as b${at}`).join(', ')}
      from ${rowsTable(load.id)}`,
  )
  return columns.map((_, at) => {
    if (at === id) return 'text'
    if (found?.[`n${at}`] === 'true') return 'numeric'
    return found?.[`b${at}`] === 'true' ? 'boolean' : 'text'
  })
}

/** Names come from `columnNames`, and have nothing in them that could end a quote. */
function createTable(loadId: string, plan: StoredPlan): string {
  const own = plan.id === -1 ? [`"row_number" text primary key`] : []
  const columns = plan.columns.map(
    ({ name, type }, at) => `${quoteIdentifier(name)} ${type}${at === plan.id ? ' primary key' : ''}`,
  )
  const texts = plan.columns
    .filter(({ type }, at) => type === 'text' && at !== plan.id)
    .map(({ name }) => `coalesce(${quoteIdentifier(name)}, '')`)
  const words = `to_tsvector(${literal(plan.language)}, ${texts.join(` || ' ' || `) || `''`})`
  return `create table if not exists ${stagedTable(loadId)} (${[
    ...own,
    ...columns,
    `embedding vector(${plan.dimensions}) not null`,
    `words tsvector generated always as (${words}) stored`,
  ].join(', ')})`
}
