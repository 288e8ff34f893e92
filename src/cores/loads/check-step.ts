/** Checks all rows together, finds the types of the columns, and makes the table that the rows become. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { ColumnType, StoredPlan } from '../../../db/schema.ts'
import { BUILT_IN_MODEL } from '../../contracts/embedding-settings.ts'
import { LOAD_PROBLEMS_SHOWN } from '../../contracts/limits.ts'
import type { LoadFormat, LoadType } from '../../contracts/load-formats.ts'
import type { Queries } from '../databases/index.ts'
import { READ_BYTES } from '../search/index.ts'
import {
  CHECKS,
  KINDS,
  mayGroupByPoint,
  READINGS,
  readingsOfType,
  recognize,
  TYPE_WORDS,
  typeOfKind,
  type Check,
  type Reading,
} from './column-types.ts'
import { fileFormatOf, type LoadRow } from './load-rows.ts'
import { withProblems } from './read-step.ts'
import { idColumn, isEmbedded } from './search-entry.ts'
import { finalTable, literal, rowsTable, stagedTable, whileStaged } from './staging.ts'
import { LoadFailed, type Step } from './step.ts'
import { compareRows, reuseVectors, wholeText } from './compare-rows.ts'
import { createStagedPassages, mayBeLong } from './row-passages.ts'
import {
  changesTable,
  columnTypeIn,
  kindComment,
  modelComment,
  readTarget,
  targetProblems,
  type Target,
} from './target-table.ts'

export const checkStep: Step = async ({ deps, queries, plan, source }, load) => {
  const target = changesTable(plan) ? await readTarget(queries, plan.table) : undefined
  if (changesTable(plan) && targetProblems(plan, target, source.configuration).length > 0)
    throw new LoadFailed('table_changed')
  const isEmpty = load.rows === 0 && load.problemCount === 0
  let problems = withProblems(load, isEmpty ? [`line ${load.readLines}: the file has no rows`] : [])
  const kinds = await findKinds(queries, load, plan, target)
  for (const { problems: further, count } of await problemsOfAll(queries, load, plan, { target, kinds })) {
    problems = withProblems(problems, further, count)
  }
  if (problems.problemCount > 0)
    throw new LoadFailed('file', { ...problems, problems: inOrder(problems.problems) })
  const columns = plan.columns.map((column, at) => {
    const { type, kind } = kinds[at]!
    return { ...column, type, kind }
  })
  const changes = target && (await compareRows(queries, load, { ...plan, columns }, target))
  const typed = { ...plan, columns, changes, ...(await countLongRows(queries, load, plan)) }
  if (plan.dryRun) {
    const all = { added: load.rows, changed: 0, gone: 0 }
    return { plan: { ...typed, changes: changes ?? all }, state: 'succeeded', finishedAt: deps.clock() }
  }
  await queries.query(whileStaged(load.id, createTable(load.id, typed)))
  if (typed.passages) await queries.query(whileStaged(load.id, createStagedPassages(load.id, typed)))
  if (target && isEmbedded(plan)) await reuseVectors(queries, load, typed, target)
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
  { target, kinds }: { readonly target: Target | undefined; readonly kinds: readonly FoundKind[] },
): Promise<Found[]> {
  const rows = rowsTable(load.id)
  const key = idColumn(plan)
  const isNumber = target !== undefined && columnTypeIn(target, key) === 'numeric'
  const cell = `cells ->> ${plan.id}`
  // 1 and 1.0 are the same key there.
  const id = isNumber
    ? `case when ${cell} ~ ${literal(KINDS.number.pattern)} then trim_scale((${cell})::numeric)::text else ${cell} end`
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
  if (target && plan.append) {
    const present = await find(
      `select ${line} from (select n, line, ${id} as id from ${rows}) r
      where exists (select from ${finalTable(plan.table)} t
        where ${isNumber ? `trim_scale(t.${quoteIdentifier(key)})` : `t.${quoteIdentifier(key)}`}::text = r.id)`,
      () => 'the table has a row with this id',
    )
    found.push(present)
  }
  for (const [at, { name, isList = false, isJson = false }] of plan.columns.entries()) {
    const { type, kind, fits, others = [] } = kinds[at]!
    if (others.length > 0) {
      const valueAs = (reading: Reading) => READINGS[reading].value(`nullif(cells ->> ${at}, '')`)
      const differs = others.map((other) => `${valueAs(kind as Reading)} is distinct from ${valueAs(other)}`)
      found.push(
        await find(
          `select ${line} from ${rows} where ${differs.join(' or ')}`,
          () => `column ${name} can be meant in two ways; choose its type`,
        ),
      )
    }
    if (fits) continue
    const pattern =
      isList || isJson || kind === undefined || kind === 'text'
        ? ''
        : ` and cells ->> ${at} !~ ${literal(KINDS[kind].pattern)}`
    const words = kind === undefined || kind === 'text' ? TYPE_WORDS[type] : KINDS[kind].words
    found.push(
      await find(`select ${line} from ${rows} where cells ->> ${at} <> ''${pattern}`, () =>
        target ? `column ${name} of the table is ${words}` : `column ${name} is not ${words}`,
      ),
    )
  }
  return found
}

type Line = { readonly line: string; readonly total: string; readonly first?: string }

/**
 * Rows of which the built-in model reads the beginning; what others read nobody knows. Which of them have passages is known
 * once they are divided.
 */
async function countLongRows(
  queries: Queries,
  load: LoadRow,
  plan: StoredPlan,
): Promise<Pick<StoredPlan, 'longRows' | 'passages'>> {
  if (!isEmbedded(plan)) return {}
  const isBuiltIn = plan.model === BUILT_IN_MODEL.name
  const [found] = await queries.query<{ rows: string; is_any: string }>(
    `select count(*) filter (where octet_length(${wholeText(plan)}) > ${READ_BYTES})::text as rows,
        coalesce(bool_or(${mayBeLong(plan)}), false)::text as is_any from ${rowsTable(load.id)} r`,
  )
  return {
    ...(isBuiltIn && { longRows: Number(found?.rows ?? 0) }),
    ...(found?.is_any === 'true' && { passages: { upTo: 0 } }),
  }
}

type FoundKind = {
  readonly type: ColumnType
  /** Of lists there is none. */
  readonly kind?: LoadType | undefined
  /** Whether all values do. */
  readonly fits: boolean
  /** In which all values could be written as well; if they are others then, a person has to say which are meant. */
  readonly others?: readonly Reading[]
}

/** Looked at before all others: what these do not fit need not be asked of a million. */
const SAMPLE_ROWS = 1_000

/** How the values of each column are written: as was chosen, as the table has it, or as all of them fit. */
async function findKinds(
  queries: Queries,
  load: LoadRow,
  { columns, id, replace }: StoredPlan,
  target: Target | undefined,
): Promise<FoundKind[]> {
  const wanted = columns.map(
    (
      { name, kind, isList = false, isJson = false },
      at,
    ): FoundKind & { checks: readonly Check[]; noted?: LoadType | undefined } => {
      // What replaces a table may have another type, where somebody says so.
      const inTable = target && !(replace && kind) ? columnTypeIn(target, name) : undefined
      const type = inTable ?? (kind && typeOfKind(kind)) ?? (isJson ? 'jsonb' : isList ? 'text[]' : 'text')
      // A list is JSON as well.
      const fits =
        type === 'text' || (isList && type === 'text[]') || ((isJson || isList) && type === 'jsonb')
      if (isList || isJson || type === 'text[]' || type === 'jsonb') return { type, fits, checks: [] }
      if (type === 'text' && (inTable || kind || at === id))
        return { type, kind: 'text', fits: true, checks: [] }
      const isOfType = kind !== undefined && kind !== 'text' && KINDS[kind].type === type
      if (isOfType) return { type, fits: false, checks: [kind] }
      const noted = target?.kinds.get(name)
      const possible = readingsOfType(type).toSorted(
        (one, other) => Number(other === noted) - Number(one === noted),
      )
      // Nothing is given: whatever all of them fit.
      return { type, fits: false, noted, checks: possible.length > 0 ? possible : ALL_CHECKS }
    },
  )
  const asked = wanted.flatMap(({ checks }, at) => checks.map((check) => ({ at, check })))
  const sample = `(select cells from ${rowsTable(load.id)} order by n limit ${SAMPLE_ROWS}) s`
  const inSample = await fitting(queries, sample, asked, 'true')
  const inAll = await fitting(queries, rowsTable(load.id), inSample, 'false')
  const fits = (at: number, check: Check) => inAll.some((one) => one.at === at && one.check === check)
  const format = fileFormatOf(load)
  return wanted.map(({ checks, noted, ...found }, at) => {
    if (checks.length === 0) return found
    if (checks === ALL_CHECKS) {
      const kind = recognize(format, (check) => fits(at, check)) ?? 'text'
      return { type: typeOfKind(kind), kind, fits: true }
    }
    const readings = (checks as readonly Reading[]).filter((one) => fits(at, one))
    const kind = readings.find((one) => one !== 'thousands')
    // A column without values has nothing that does not fit.
    if (kind === undefined) return { ...found, kind: checks[0] as LoadType, fits: false }
    const others = isMeant(kind, noted, format) ? [] : readings.filter((one) => one !== kind)
    return { ...found, kind, fits: true, others }
  })
}

/** As the table was loaded before; but files that know numbers write them with a point, whatever others did. */
function isMeant(kind: LoadType, noted: LoadType | undefined, format: LoadFormat): boolean {
  if (mayGroupByPoint(format)) return kind === noted
  return kind === 'number' || (kind === noted && kind !== 'number_comma')
}

const ALL_CHECKS = Object.keys(CHECKS) as Check[]

type Asked = { readonly at: number; readonly check: Check }

/** Those that all values of their column fit. */
async function fitting(
  queries: Queries,
  rows: string,
  asked: readonly Asked[],
  /** Of a column without any. */
  otherwise: 'true' | 'false',
): Promise<readonly Asked[]> {
  if (asked.length === 0) return []
  const fits = ({ at, check }: Asked, n: number) =>
    `coalesce(bool_and(cells ->> ${at} ~ ${literal(CHECKS[check])}) filter (where cells ->> ${at} <> ''), ${otherwise})::text as f${n}`
  const [found] = await queries.query<Record<string, string>>(
    `select ${asked.map(fits).join(', ')} from ${rows}`,
  )
  return asked.filter((_, n) => found?.[`f${n}`] === 'true')
}

function createTable(loadId: string, plan: StoredPlan): string {
  const own = plan.id === -1 ? [`"row_number" text primary key`] : []
  const columns = plan.columns.map(
    ({ name, type }, at) => `${quoteIdentifier(name)} ${type}${at === plan.id ? ' primary key' : ''}`,
  )
  const comments = [
    [isEmbedded(plan) ? 'embedding' : 'words', modelComment(plan)] as const,
    ...plan.columns.flatMap(({ name, kind = 'text' }) =>
      kind === 'text' ? [] : [[name, kindComment(kind)] as const],
    ),
  ].map(
    ([name, comment]) =>
      `comment on column ${stagedTable(loadId)}.${quoteIdentifier(name)} is ${literal(comment)};`,
  )
  const texts = plan.columns
    .filter(({ type }, at) => type === 'text' && at !== plan.id)
    .map(({ name }) => `coalesce(${quoteIdentifier(name)}, '')`)
  const words = `to_tsvector(${literal(plan.language)}, ${texts.join(` || ' ' || `) || `''`})`
  return `create table if not exists ${stagedTable(loadId)} (${[
    ...own,
    ...columns,
    ...(isEmbedded(plan) ? [`embedding vector(${plan.dimensions}) not null`] : []),
    `words tsvector generated always as (${words}) stored`,
  ].join(', ')});
    ${comments.join('\n    ')}`
}
