/** The rows of a file beside those of the table that they change: how many differ, and which vectors can stay. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { LoadChanges, StoredPlan } from '../../../db/schema.ts'
import { QUESTION_MAX_CHARACTERS } from '../../contracts/limits.ts'
import type { Queries } from '../databases/index.ts'
import { KINDS, kindsOfType } from './column-types.ts'
import type { LoadRow } from './load-rows.ts'
import { idColumn, isEmbedded } from './search-entry.ts'
import { finalTable, rowsTable, stagedTable } from './staging.ts'
import { columnTypeIn, embeddedColumns, type Target } from './target-table.ts'

/** Of a staged row `r`, with the type that the column has. */
export const valueOf = ({ columns }: Pick<StoredPlan, 'columns'>, at: number): string => {
  const { type = 'text', kind } = columns[at]!
  if (type === 'text') return `r.cells ->> ${at}`
  if (type === 'jsonb') return `nullif(r.cells ->> ${at}, '')::jsonb`
  if (type !== 'text[]') {
    const written = kind === undefined || kind === 'text' ? kindsOfType(type)[0]! : kind
    return KINDS[written].value(`nullif(r.cells ->> ${at}, '')`)
  }
  const list = `pg_catalog.jsonb_array_elements_text((r.cells ->> ${at})::jsonb) with ordinality l (one, place)`
  return `case when r.cells ->> ${at} <> '' then (select coalesce(array_agg(l.one order by l.place), '{}') from ${list}) end`
}

export const keyOf = (plan: StoredPlan): string =>
  plan.id === -1 ? 'r.n::text' : `(${valueOf(plan, plan.id)})`

/** What of a staged row `r` is embedded. */
export const embeddedText = (plan: StoredPlan): string => cut(wholeText(plan))
/** And what is divided, where that is longer than the model reads. */
export const wholeText = ({ embed }: StoredPlan): string =>
  textOf(embed.map((at) => `nullif(r.cells ->> ${at}, '')`))

/** As the table says it again: JSON has other blanks and another order there. */
const storedText = ({ embed, columns }: StoredPlan): string =>
  cut(
    textOf(
      embed.map((at) =>
        columns[at]!.type === 'jsonb'
          ? `(${valueOf({ columns }, at)})::text`
          : `nullif(r.cells ->> ${at}, '')`,
      ),
    ),
  )

const textOf = (values: readonly string[]): string => `concat_ws(E'\\n', ${values.join(', ')})`
const cut = (text: string): string => `left(${text}, ${QUESTION_MAX_CHARACTERS})`

/** Rows are the same by their id. Where the table has another key, all of them are others. */
export async function compareRows(
  queries: Queries,
  load: LoadRow,
  plan: StoredPlan,
  target: Target,
): Promise<LoadChanges> {
  const [rows, table, key] = [
    rowsTable(load.id),
    finalTable(plan.table),
    `t.${quoteIdentifier(idColumn(plan))}`,
  ]
  const deletes = plan.replace === true || plan.deleteMissing === true
  const isSameKey =
    target.key === idColumn(plan) && (plan.id !== -1 || target.types.get('row_number') === 'text')
  const [found] = await queries.query<Record<keyof LoadChanges, string>>(
    isSameKey
      ? `select count(*) filter (where ${key} is null)::text as added,
          count(*) filter (where ${key} is not null and (${differs(plan, target)}))::text as changed,
          ${deletes ? `(select count(*) from ${table} t where not exists (select from ${rows} r where ${keyOf(plan)} = ${key}))` : '0'}::text as gone
        from ${rows} r left join ${table} t on ${key} = ${keyOf(plan)}`
      : `select (select count(*) from ${rows})::text as added, '0' as changed, (select count(*) from ${table})::text as gone`,
  )
  return { added: Number(found?.added), changed: Number(found?.changed), gone: Number(found?.gone) }
}

function differs(plan: StoredPlan, target: Target): string {
  const names = new Set([...plan.columns.map(({ name }) => name), idColumn(plan), 'embedding'])
  // A table that is replaced has the columns of the file, and no others.
  if (plan.replace && target.stored.some((name) => !names.has(name))) return 'true'
  const values = plan.columns.flatMap(({ name, type }, at) => {
    if (at === plan.id) return []
    if (columnTypeIn(target, name) !== type) return ['true']
    return [`t.${quoteIdentifier(name)} is distinct from ${valueOf(plan, at)}`]
  })
  return values.join(' or ') || 'false'
}

/** Rows whose text is that of a row of the table have its vector, and cost nothing: where the same columns made it. */
export async function reuseVectors(
  queries: Queries,
  load: LoadRow,
  plan: StoredPlan,
  target: Target,
): Promise<void> {
  const isSame =
    target.model === plan.model &&
    target.embedded === embeddedColumns(plan) &&
    target.types.get('embedding') === `vector(${plan.dimensions})` &&
    plan.embed.every((at) => columnTypeIn(target, plan.columns[at]!.name))
  if (!isSame || plan.append) return
  const text = cut(
    textOf(plan.embed.map((at) => `nullif(t.${quoteIdentifier(plan.columns[at]!.name)}::text, '')`)),
  )
  const [table, key] = [finalTable(plan.table), quoteIdentifier(idColumn(plan))]
  // By the id where few rows of a large table change; by the text where all are read, as numbers of rows move.
  const known = plan.upsert
    ? `join ${table} t on t.${key} = ${keyOf(plan)} and ${text} = ${storedText(plan)}`
    : `join (select distinct on (text) text, embedding from (select ${text} as text, t.embedding from ${table} t
        where t.embedding is not null) texts order by text) t on t.text = ${storedText(plan)}`
  await queries.query(`${insertInto(load, plan)}, t.embedding from ${rowsTable(load.id)} r ${known}
    where t.embedding is not null on conflict (${key}) do nothing`)
}

/** All columns of staged rows `r`; the vector follows, if there is one. */
export function insertInto(load: LoadRow, plan: StoredPlan): string {
  const own = plan.id === -1 ? [['row_number', 'r.n::text'] as const] : []
  const columns = plan.columns.map(({ name }, at) => [name, valueOf(plan, at)] as const)
  const all = [...own, ...columns]
  const names = [...all.map(([name]) => quoteIdentifier(name)), ...(isEmbedded(plan) ? ['embedding'] : [])]
  return `insert into ${stagedTable(load.id)} (${names.join(', ')})
    select ${all.map(([, value]) => value).join(', ')}`
}
