/** The table that a load becomes, or adds to. */
import type { ColumnType, StoredPlan } from '../../../db/schema.ts'
import type { SearchConfiguration } from '../../contracts/data-sources.ts'
import type { Queries } from '../databases/index.ts'
import { idColumn } from './search-entry.ts'

/** Undefined: there is none. Otherwise what its columns are, and which is its key. */
export type Target = {
  readonly types: ReadonlyMap<string, string>
  readonly key: string | null
  /** That a load embedded its rows with. */
  readonly model: string | undefined
}

const MODEL_COMMENT = 'Embedded by svc with model '
/** On the column: vectors of two models have the same dimensions, and nothing else in common. */
export const modelComment = (model: string): string => MODEL_COMMENT + model

export async function readTarget(queries: Queries, table: string): Promise<Target | undefined> {
  // A view or an index of that name is in the way as well.
  const columns = await queries.query<{
    name: string | null
    type: string | null
    is_key: boolean | null
    comment: string | null
  }>(
    `select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type,
        coalesce(i.indnkeyatts = 1 and i.indkey[0] = a.attnum, false) as is_key,
        col_description(c.oid, a.attnum) as comment
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
  return {
    types,
    key: columns.find(({ is_key }) => is_key)?.name ?? null,
    model: comment.startsWith(MODEL_COMMENT) ? comment.slice(MODEL_COMMENT.length) : undefined,
  }
}

/** The type is the table's own where rows are appended. */
export const columnTypeIn = (target: Target, name: string): ColumnType | undefined => {
  const type = target.types.get(name)
  return type === 'text' || type === 'numeric' || type === 'boolean' ? type : undefined
}

export function targetProblems(
  plan: StoredPlan,
  target: Target | undefined,
  configuration: SearchConfiguration | null,
): string[] {
  if (!plan.append) return target ? ['a table, view or index of that name exists already'] : []
  if (!target) return ['there is no such table to append to']
  const problems: string[] = []
  const vector = `vector(${plan.dimensions})`
  if (target.types.get('embedding') !== vector) {
    problems.push(`the table has no column embedding of type ${vector}, as ${plan.model} needs`)
  }
  const entries = configuration?.connection_config.embedding_configs ?? []
  const model = target.model ?? entries.find(({ table }) => table === plan.table)?.model ?? plan.model
  if (model !== plan.model)
    problems.push(`the rows of the table are embedded with ${model}, not ${plan.model}`)
  if (target.key !== idColumn(plan)) problems.push(`the key of the table is not column ${idColumn(plan)}`)
  for (const { name } of plan.columns) {
    if (!target.types.has(name)) problems.push(`the table has no column ${name}`)
    else if (!columnTypeIn(target, name))
      problems.push(`column ${name} is neither text, a number nor true or false`)
  }
  return problems
}
