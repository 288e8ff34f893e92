/** The search configuration of a table that was loaded. */
import type { ColumnType, StoredPlan } from '../../../db/schema.ts'
import type {
  FilterSchema,
  FilterType,
  SearchConfiguration,
  SearchEntry,
} from '../../contracts/data-sources.ts'

/** Of a configuration, in characters. */
const CONTENT_COLUMNS_MAX = 2_000
const LABEL_MAX = 60

/** JSON has none. */
export const FILTER_TYPES: Record<Exclude<ColumnType, 'jsonb'>, FilterType> & { jsonb?: never } = {
  text: 'string',
  numeric: 'number',
  boolean: 'boolean',
  date: 'date',
  timestamp: 'date',
  time: 'string',
  'text[]': 'string',
}

/** Without vectors rows are found by words and filters only. */
export const isEmbedded = ({ embed }: Pick<StoredPlan, 'embed'>): boolean => embed.length > 0

/** What is configured already stays, and a table that is configured already stays as it is. */
export function withTable(before: SearchConfiguration | null, plan: StoredPlan): SearchConfiguration {
  const entries = before?.connection_config.embedding_configs ?? []
  const filters = before?.filter_schema ?? {}
  const access = before?.access_column ?? null
  if (entries.some(({ table }) => table === plan.table)) {
    return { connection_config: { embedding_configs: entries }, filter_schema: filters }
  }
  return {
    connection_config: { embedding_configs: [...entries, entryOf(plan, entries, access)] },
    // A filter of that name may be of another type in another table: then it stays that one.
    filter_schema: { ...filtersOf(plan, access), ...filters },
  }
}

function entryOf(plan: StoredPlan, entries: readonly SearchEntry[], access: string | null): SearchEntry {
  return {
    label: unusedLabel(plan.table.slice(0, LABEL_MAX - 4), entries),
    table: plan.table,
    ...(isEmbedded(plan)
      ? { columns: ['embedding'], model: plan.model, dimensions: plan.dimensions }
      : { columns: [] }),
    content_columns: contentColumns(plan, access),
    distance_metric: 'cosine',
    hybrid: true,
    text_search_language: plan.language,
    text_search_column: 'words',
  }
}

function unusedLabel(label: string, entries: readonly SearchEntry[]): string {
  let unused = label
  for (let at = 2; entries.some((entry) => entry.label === unused); at++) unused = `${label}-${at}`
  return unused
}

export const idColumn = ({ id, columns }: Pick<StoredPlan, 'id' | 'columns'>): string =>
  id === -1 ? 'row_number' : columns[id]!.name

/** The id, the title, what was embedded, and the others as far as there is room. Who sees a row is for nobody to read. */
function contentColumns(plan: StoredPlan, access: string | null): string {
  const { columns, id, title, embed } = plan
  const order = [...(title === null ? [] : [title]), ...embed, ...columns.keys()].filter(
    (at) => at !== id && columns[at]!.name !== access,
  )
  let list = idColumn(plan)
  for (const at of new Set(order)) {
    const longer = `${list},${columns[at]!.name}`
    if (longer.length <= CONTENT_COLUMNS_MAX) list = longer
  }
  return list
}

/** Positions of the columns that may be filtered on. */
export const filterColumns = ({ columns, id, filters }: StoredPlan): readonly number[] =>
  filters ??
  [...columns.keys()].filter((at) => at !== id && !['text', 'jsonb'].includes(columns[at]!.type ?? ''))

const filtersOf = (plan: StoredPlan, access: string | null): FilterSchema =>
  Object.fromEntries(
    filterColumns(plan).flatMap((at) => {
      const { name, type = 'text' } = plan.columns[at]!
      const filter = FILTER_TYPES[type]
      return name === access || !filter ? [] : [[name, filter]]
    }),
  )
