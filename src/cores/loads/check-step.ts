/** Checks all rows together, finds the types of the columns, and makes the table that the rows become. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { ColumnType, StoredPlan } from '../../../db/schema.ts'
import { LOAD_PROBLEMS_SHOWN } from '../../contracts/limits.ts'
import type { Queries } from '../databases/index.ts'
import type { LoadRow } from './load-rows.ts'
import { withProblems } from './read-step.ts'
import { idColumn } from './search-entry.ts'
import { finalTable, literal, rowsTable, stagedTable, whileStaged } from './staging.ts'
import { LoadFailed, type Step } from './step.ts'
import { compareRows, reuseVectors } from './compare-rows.ts'
import {
  changesTable,
  columnTypeIn,
  modelComment,
  readTarget,
  targetProblems,
  type Target,
} from './target-table.ts'

/** As people write numbers. One with a leading zero is a name: 007. */
const NUMBER = `^-?(0|[1-9][0-9]{0,14})([.][0-9]{1,15})?$`
const BOOLEAN = '^(true|false)$'
const PATTERNS: Record<Exclude<ColumnType, 'text' | 'text[]'>, string> = { numeric: NUMBER, boolean: BOOLEAN }

export const checkStep: Step = async ({ deps, queries, plan, source }, load) => {
  const target = changesTable(plan) ? await readTarget(queries, plan.table) : undefined
  if (changesTable(plan) && targetProblems(plan, target, source.configuration).length > 0)
    throw new LoadFailed('table_changed')
  const isEmpty = load.rows === 0 && load.problemCount === 0
  let problems = withProblems(load, isEmpty ? [`line ${load.readLines}: the file has no rows`] : [])
  for (const { problems: further, count } of await problemsOfAll(queries, load, plan, target)) {
    problems = withProblems(problems, further, count)
  }
  if (problems.problemCount > 0)
    throw new LoadFailed('file', { ...problems, problems: inOrder(problems.problems) })
  const found = await findTypes(queries, load, plan)
  const columns = plan.columns.map((column, at) => ({
    ...column,
    type: (target && columnTypeIn(target, column.name)) ?? found[at]!,
  }))
  const changes = target && (await compareRows(queries, load, { ...plan, columns }, target))
  const typed = { ...plan, columns, changes }
  if (plan.dryRun) {
    const all = { added: load.rows, changed: 0, gone: 0 }
    return { plan: { ...typed, changes: changes ?? all }, state: 'succeeded', finishedAt: deps.clock() }
  }
  await queries.query(whileStaged(load.id, createTable(load.id, typed)))
  if (target) await reuseVectors(queries, load, typed, target)
  return { plan: typed, phase: 'embedding', embedded: 0 }
}

const lineOf = (problem: string): number => Number(/^line (\d+)/.exec(problem)?.[1] ?? 0)
const inOrder = (problems: readonly string[]) =>
  problems.toSorted((one, other) => lineOf(one) - lineOf(other))

type Found = { readonly problems: readonly string[]; readonly count: number }

/** Of each kind the first hundred, and how many there are. */
async function problemsOfAll(
  queries: Queries,
  load: LoadRow,
  plan: StoredPlan,
  target: Target | undefined,
): Promise<Found[]> {
  const rows = rowsTable(load.id)
  const key = idColumn(plan)
  const isNumber = target !== undefined && columnTypeIn(target, key) === 'numeric'
  const cell = `cells ->> ${plan.id}`
  // 1 and 1.0 are the same key there.
  const id = isNumber
    ? `case when ${cell} ~ ${literal(NUMBER)} then trim_scale((${cell})::numeric)::text else ${cell} end`
    : cell
  const find = async (statement: string, tell: (row: Line) => string): Promise<Found> => {
    const found = await queries.query<Line>(`${statement} order by n limit ${LOAD_PROBLEMS_SHOWN}`)
    const problems = found.map((row) => `line ${row.line}: ${tell(row)}`)
    return { problems, count: Number(found[0]?.total ?? 0) }
  }
  const line = 'line::text, (count(*) over ())::text as total'
  const twice = `select ${line}, first::text from (
        select n, line, first_value(line) over same as first, row_number() over same as place
        from ${rows} window same as (partition by ${id} order by n)) numbered
      where place > 1`
  const found = plan.id === -1 ? [] : [await find(twice, ({ first }) => `the id is that of line ${first}`)]
  if (!target) return found
  if (plan.append) {
    const present = await find(
      `select ${line} from (select n, line, ${id} as id from ${rows}) r
      where exists (select from ${finalTable(plan.table)} t
        where ${isNumber ? `trim_scale(t.${quoteIdentifier(key)})` : `t.${quoteIdentifier(key)}`}::text = r.id)`,
      () => 'the table has a row with this id',
    )
    found.push(present)
  }
  for (const [at, { name, isList = false }] of plan.columns.entries()) {
    const type = columnTypeIn(target, name)
    if (type === undefined || (isList ? type === 'text[]' : type === 'text')) continue
    const pattern =
      isList || type === 'text' || type === 'text[]'
        ? ''
        : ` and cells ->> ${at} !~ ${literal(PATTERNS[type])}`
    found.push(
      await find(
        `select ${line} from ${rows} where cells ->> ${at} <> ''${pattern}`,
        () => `column ${name} of the table is ${TYPE_WORDS[type]}`,
      ),
    )
  }
  return found
}

const TYPE_WORDS: Record<ColumnType, string> = {
  text: 'a text',
  numeric: 'a number',
  boolean: 'true or false',
  'text[]': 'a list',
}

type Line = { readonly line: string; readonly total: string; readonly first?: string }

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
    if (columns[at]!.isList) return 'text[]'
    if (found?.[`n${at}`] === 'true') return 'numeric'
    return found?.[`b${at}`] === 'true' ? 'boolean' : 'text'
  })
}

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
  ].join(', ')});
    comment on column ${stagedTable(loadId)}.embedding is ${literal(modelComment(plan))};`
}
