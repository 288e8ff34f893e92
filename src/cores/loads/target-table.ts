/** The table that a load becomes, or adds to. */
import type { ColumnType, StoredPlan } from '../../../db/schema.ts'
import type { SearchConfiguration } from '../../contracts/data-sources.ts'
import { LOAD_TYPES, type LoadType } from '../../contracts/load-formats.ts'
import type { Queries } from '../databases/index.ts'
import { TYPE_WORDS, typeOfKind } from './column-types.ts'
import { FILTER_TYPES, idColumn, isEmbedded } from './search-entry.ts'

/** Undefined: there is none. Otherwise what its columns are, and which is its key. */
export type Target = {
  readonly types: ReadonlyMap<string, string>
  /** How a load found the values of a column written. */
  readonly kinds: ReadonlyMap<string, LoadType>
  readonly key: string | null
  /** That a load embedded its rows with. */
  readonly model: string | undefined
  /** The columns whose text it embedded; undefined where nobody has noted it. */
  readonly embedded: string | undefined
  /** A load made it, with vectors or without. */
  readonly isLoaded: boolean
  /** Those that are not made of others. */
  readonly stored: readonly string[]
  /** Views, triggers, policies or other tables would stay with what is replaced. */
  readonly isDependedOn: boolean
}

const MODEL_COMMENT = 'Embedded by svc with model '
/** On the column of words, where there are no vectors. */
const WORDS_COMMENT = 'Loaded by svc without vectors'
const COLUMNS_COMMENT = ' from columns '
/** On the column: vectors of two models have the same dimensions, and nothing else in common; nor do those of other texts. */
export const modelComment = (plan: Pick<StoredPlan, 'model' | 'columns' | 'embed'>): string =>
  isEmbedded(plan) ? MODEL_COMMENT + plan.model + COLUMNS_COMMENT + embeddedColumns(plan) : WORDS_COMMENT

export const embeddedColumns = ({ columns, embed }: Pick<StoredPlan, 'columns' | 'embed'>): string =>
  JSON.stringify(embed.map((at) => columns[at]!.name))

const KIND_COMMENT = 'Loaded by svc as '
/** On a column: what can be meant in two ways next time is meant as it was before. */
export const kindComment = (kind: LoadType): string => KIND_COMMENT + kind
const kindIn = (comment: string | null): LoadType | undefined => {
  const kind = comment?.startsWith(KIND_COMMENT) ? comment.slice(KIND_COMMENT.length) : ''
  return Object.hasOwn(LOAD_TYPES, kind) ? (kind as LoadType) : undefined
}

/** Of a table that is there. */
export const changesTable = ({ append, upsert, replace }: StoredPlan): boolean =>
  append || upsert === true || replace === true

export async function readTarget(queries: Queries, table: string): Promise<Target | undefined> {
  // A view or an index of that name is in the way as well.
  const columns = await queries.query<{
    name: string | null
    type: string | null
    is_key: boolean | null
    comment: string | null
    is_generated: boolean | null
    is_depended_on: boolean
  }>(
    `select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type,
        coalesce(i.indnkeyatts = 1 and i.indkey[0] = a.attnum, false) as is_key,
        col_description(c.oid, a.attnum) as comment, a.attgenerated <> '' as is_generated,
        c.relkind <> 'r' or c.relrowsecurity or c.relispartition
          or exists (select from pg_trigger g where g.tgrelid = c.oid and not g.tgisinternal)
          or exists (select from pg_constraint f where f.contype = 'f' and c.oid in (f.confrelid, f.conrelid))
          or exists (select from pg_inherits h where c.oid in (h.inhparent, h.inhrelid))
          or exists (select from pg_depend d join pg_rewrite w on w.oid = d.objid and d.classid = 'pg_rewrite'::regclass
            where d.refclassid = 'pg_class'::regclass and d.refobjid = c.oid) as is_depended_on
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
      left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      left join pg_index i on i.indrelid = c.oid and i.indisprimary
      where c.relname = $1 limit 2000`,
    [table],
  )
  if (columns.length === 0) return undefined
  const types = new Map(
    columns.flatMap(({ name, type }) => (name === null ? [] : [[name, type ?? ''] as const])),
  )
  const comment = columns.find(({ name }) => name === 'embedding')?.comment ?? ''
  const [model, embedded] = comment.slice(MODEL_COMMENT.length).split(COLUMNS_COMMENT)
  const kinds = columns.flatMap(({ name, comment: said }) => {
    const kind = kindIn(said)
    return name === null || kind === undefined ? [] : [[name, kind] as const]
  })
  return {
    types,
    kinds: new Map(kinds),
    key: columns.find(({ is_key }) => is_key)?.name ?? null,
    model: comment.startsWith(MODEL_COMMENT) ? model : undefined,
    embedded: comment.startsWith(MODEL_COMMENT) ? embedded : undefined,
    isLoaded:
      comment.startsWith(MODEL_COMMENT) ||
      columns.some(({ name, comment: said }) => name === 'words' && said === WORDS_COMMENT),
    stored: columns.flatMap(({ name, is_generated }) => (name === null || is_generated ? [] : [name])),
    isDependedOn: columns[0]!.is_depended_on,
  }
}

/** By the name that Postgres gives it. */
const COLUMN_TYPES: Readonly<Record<string, ColumnType>> = {
  text: 'text',
  numeric: 'numeric',
  boolean: 'boolean',
  date: 'date',
  'timestamp without time zone': 'timestamp',
  'time without time zone': 'time',
  'text[]': 'text[]',
  jsonb: 'jsonb',
}

/** The type is the table's own where rows are appended. */
export const columnTypeIn = (target: Target, name: string): ColumnType | undefined => {
  const type = target.types.get(name)
  return type !== undefined && Object.hasOwn(COLUMN_TYPES, type) ? COLUMN_TYPES[type] : undefined
}

export function targetProblems(
  plan: StoredPlan,
  target: Target | undefined,
  configuration: SearchConfiguration | null,
): string[] {
  if (plan.replace) return target ? replaceProblems(plan, target, configuration) : []
  if (!changesTable(plan)) return target ? ['a table, view or index of that name exists already'] : []
  if (!target) return [plan.append ? 'there is no such table to append to' : 'there is no such table']
  const problems: string[] = []
  if (!isEmbedded(plan) && target.types.has('embedding')) {
    problems.push('the rows of the table are embedded: name the columns whose text is')
  }
  if (plan.upsert && target.embedded !== undefined && target.embedded !== embeddedColumns(plan)) {
    problems.push(`the rows of the table are embedded from other columns: ${target.embedded}`)
  }
  const vector = `vector(${plan.dimensions})`
  if (isEmbedded(plan) && target.types.get('embedding') !== vector) {
    problems.push(`the table has no column embedding of type ${vector}, as ${plan.model} needs`)
  }
  const entries = configuration?.connection_config.embedding_configs ?? []
  const model = target.model ?? entries.find(({ table }) => table === plan.table)?.model ?? plan.model
  if (isEmbedded(plan) && model !== plan.model)
    problems.push(`the rows of the table are embedded with ${model}, not ${plan.model}`)
  if (target.key !== idColumn(plan)) problems.push(`the key of the table is not column ${idColumn(plan)}`)
  for (const { name, kind } of plan.columns) {
    const type = columnTypeIn(target, name)
    if (kind && type && typeOfKind(kind) !== type)
      problems.push(`column ${name} of the table is ${TYPE_WORDS[type]}`)
    if (!target.types.has(name)) problems.push(`the table has no column ${name}`)
    else if (!columnTypeIn(target, name))
      problems.push(
        `column ${name} is neither text, a number, a date, a time, true or false, a list of texts nor JSON`,
      )
  }
  return problems
}

/** What is configured must be found in the file, or questions would fail from one moment to the next. */
function replaceProblems(
  plan: StoredPlan,
  target: Target,
  configuration: SearchConfiguration | null,
): string[] {
  const problems: string[] = []
  if (!target.isLoaded) problems.push('the table was not made by a load')
  if (target.isDependedOn) {
    problems.push(
      'a view, a trigger, a policy or another table depends on it; change its rows by their id instead',
    )
  }
  const entries = (configuration?.connection_config.embedding_configs ?? []).filter(
    ({ table }) => table === plan.table || table === `public.${plan.table}`,
  )
  const vector = isEmbedded(plan) ? ['embedding'] : []
  const has = new Set([...plan.columns.map(({ name }) => name), idColumn(plan), ...vector, 'words'])
  const named = [
    ...entries.flatMap(({ content_columns }) => content_columns.split(',').map((name) => name.trim())),
    ...entries.flatMap(({ columns, text_search_column: words }) => [...columns, ...(words ? [words] : [])]),
    // Without it nobody would see a row.
    ...(configuration?.access_column ? [configuration.access_column] : []),
    ...Object.keys(configuration?.filter_schema ?? {}).filter((name) => target.types.has(name)),
  ]
  for (const name of new Set(named)) {
    if (entries.length > 0 && !has.has(name)) problems.push(`the search configuration names column ${name}`)
  }
  for (const { name, kind } of plan.columns) {
    const filtered = configuration?.filter_schema[name]
    if (entries.length > 0 && kind && filtered && FILTER_TYPES[typeOfKind(kind)] !== filtered)
      problems.push(`the search configuration filters column ${name} as a ${filtered}`)
  }
  for (const { model } of entries) {
    if (isEmbedded(plan) && model !== undefined && model !== plan.model)
      problems.push(`the search configuration names model ${model}, not ${plan.model}`)
  }
  return problems
}
