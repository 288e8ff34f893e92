import type * as z from 'zod'
import { METRICS, type listTables as operation } from '../../contracts/data-sources.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { SourceFailure } from '../../contracts/source-health.ts'
import { findSource, openSource, type Queries } from '../databases/index.ts'
import { read, type Verb } from '../verb.ts'
import type { ConfigurationDeps } from './check-against-database.ts'
import { countVectors, type Counted } from './count-vectors.ts'
import { databaseFailureOf } from './database-failure.ts'
import type { EmbeddingModels } from './embedding-models.ts'
import { OPERATOR_CLASSES } from './nearest-rows.ts'
import type { ColumnInfo } from './read-rows.ts'
import { failingAsSource } from './search-entries.ts'
import { suggestConfiguration } from './suggest-configuration.ts'
import { readTables, type TableInfo } from './table-info.ts'

type SourceTable = z.output<typeof operation.output>['tables'][number]

const TABLES_MAX = 50
const COLUMNS_MAX = 100
/** After so long the rows of no further table are counted. */
const COUNT_MS = 3_000

/** Reads the catalog and counts rows; not a value of any of them. */
export const listTables: Verb<'listTables', ConfigurationDeps> = read(async (context, { source_id }) => {
  const { db, clock, orgId, models } = context
  const row = await findSource(db, orgId, source_id)
  if (!row) throw notFound()
  if (row.preparingUntil !== null) {
    throw new ServiceError('CONFLICT', 'This database is being created', { hint: 'Try again in a moment.' })
  }
  const queries = openSource(context, row)
  const found = await failingAsSource(() => readTables(queries, TABLES_MAX + 1))
  const saved = row.configuration ?? null
  const configured = new Set(saved?.connection_config.embedding_configs.map(({ table }) => table))
  const until = clock().getTime() + COUNT_MS
  const tables: SourceTable[] = []
  const broken = new Set<SourceTable>()
  let isSlow = false
  for (const [table, info] of [...found].slice(0, TABLES_MAX)) {
    const mayCount = () => !isSlow && clock().getTime() < until
    const { counted, failure } = await failingAsSource(() => countAll(queries, table, info, mayCount))
    const shown = { ...describe(table, info, counted, models), configured: configured.has(table) }
    tables.push(shown)
    if (failure === 'too_slow') isSlow = true
    else if (failure) broken.add(shown)
  }
  const usable = tables.filter((table) => !broken.has(table))
  return { tables, more: found.size > TABLES_MAX, suggestion: suggestConfiguration(usable, saved) }
})

const isVector = ({ type }: ColumnInfo): boolean => type === 'vector'

type Counting = { readonly counted: ReadonlyMap<string, Counted>; readonly failure?: SourceFailure }

/**
 * By vector column. What a view computes may take as long as it likes, and a foreign table is elsewhere. One that cannot be
 * read, such as a materialized view without data, or is locked for too long, says nothing about the others.
 */
async function countAll(
  queries: Queries,
  table: string,
  info: TableInfo,
  mayCount: () => boolean,
): Promise<Counting> {
  const counted = new Map<string, Counted>()
  if (!['r', 'p', 'm'].includes(info.kind)) return { counted }
  for (const { name } of [...info.columns.values()].filter(isVector)) {
    if (!mayCount()) break
    try {
      counted.set(name, await countVectors(queries, { table, vector: name }, info))
    } catch (error) {
      const kind = databaseFailureOf(error)?.kind
      if (kind === undefined || kind === 'unreachable') throw error
      return { counted, failure: kind }
    }
  }
  return { counted }
}

const KINDS: Record<string, SourceTable['kind']> = {
  r: 'table',
  p: 'table',
  m: 'table',
  v: 'view',
  f: 'foreign',
}

function describe(
  table: string,
  { kind, rows, columns, indexes }: TableInfo,
  counted: ReadonlyMap<string, Counted>,
  models: Pick<EmbeddingModels, 'dimensionsOf' | 'names'>,
): Omit<SourceTable, 'configured'> {
  const all = [...columns.values()]
  const [first] = counted.values()
  return {
    table,
    kind: KINDS[kind] ?? 'view',
    // Never analyzed, a table is said to have -1.
    rows: first?.rows ?? (kind !== 'v' && rows >= 0 ? Math.round(rows) : null),
    is_estimated: first?.isEstimated ?? true,
    columns: all.slice(0, COLUMNS_MAX).map(({ name, type }) => ({ name, type })),
    vectors: all.filter(isVector).map(({ name, modifier }) => {
      const index = indexes.find((one) => one.column === name && one.method !== 'btree')
      return {
        name,
        dimensions: modifier > 0 ? modifier : null,
        models: models.names.filter((model) => models.dimensionsOf(model) === modifier),
        index: index?.method ?? null,
        metric: METRICS.find((metric) => OPERATOR_CLASSES[metric] === index?.operators) ?? null,
        without_vector: counted.get(name)?.without ?? null,
      }
    }),
  }
}
