/**
 * The configuration that would search what is there: everything that is saved, and an entry for each table that has
 * vectors of a configured model. Of its columns it returns as few as make a useful hit: which others may leave the
 * database is for a person to say.
 */
import type * as z from 'zod'
import {
  SearchConfiguration,
  type FilterSchema,
  type FilterType,
  type listTables,
  type SearchEntry,
} from '../../contracts/data-sources.ts'
import { ENTRIES_MAX } from '../../contracts/limits.ts'

type SourceTable = z.output<typeof listTables.output>['tables'][number]
type Column = SourceTable['columns'][number]

export function suggestConfiguration(
  tables: readonly SourceTable[],
  saved: SearchConfiguration | null,
): SearchConfiguration | null {
  const entries = [...(saved?.connection_config.embedding_configs ?? [])]
  const filters: FilterSchema = { ...saved?.filter_schema }
  const access = saved?.access_column ?? null
  for (const table of tables.filter(({ configured }) => !configured)) {
    const entry = entryFor(withoutColumn(table, access), new Set(entries.map(({ label }) => label)))
    if (!entry || !fits(entry) || entries.length >= ENTRIES_MAX) continue
    entries.push(entry)
    for (const [name, type] of filtersOf(table)) filters[name] ??= type
  }
  const suggested = SearchConfiguration.safeParse({
    connection_config: { embedding_configs: entries },
    filter_schema: filters,
    ...(saved?.access_column !== undefined && { access_column: saved.access_column }),
  })
  return entries.length > 0 && suggested.success ? suggested.data : null
}

/** Who sees a row is for nobody to read. */
const withoutColumn = (table: SourceTable, access: string | null): SourceTable => ({
  ...table,
  columns: table.columns.filter(({ name }) => name !== access),
})

/** A name that no configuration may hold, such as one that is too long, keeps its own table out and no other. */
const fits = (entry: SearchEntry): boolean =>
  SearchConfiguration.safeParse({ connection_config: { embedding_configs: [entry] } }).success

function entryFor(table: SourceTable, taken: ReadonlySet<string>): SearchEntry | undefined {
  const vector = table.vectors.find(({ dimensions, models }) => dimensions !== null && models.length > 0)
  const content = contentOf(table)
  if (!vector || content.length === 0) return undefined
  return {
    label: labelFor(table.table, taken),
    table: table.table,
    columns: [vector.name],
    model: vector.models[0]!,
    dimensions: vector.dimensions!,
    content_columns: content.join(', '),
    distance_metric: vector.metric ?? 'cosine',
  }
}

const isText = ({ type }: Column): boolean => ['text', 'varchar', 'bpchar', 'citext'].includes(type)

const TITLES = ['title', 'name', 'subject', 'heading', 'headline', 'question', 'label', 'summary']
const BODIES = [
  'body',
  'content',
  'text',
  'description',
  'answer',
  'chunk',
  'passage',
  'document',
  'markdown',
]

/** Its id, its title and its text. The list is written with commas, so a name with one cannot be in it. */
function contentOf({ columns }: SourceTable): string[] {
  const usable = columns.filter(
    ({ name, type }) => !/[,\s]/.test(name) && !['vector', 'tsvector'].includes(type),
  )
  const texts = usable.filter(isText)
  const named = (names: readonly string[]) =>
    names.flatMap((name) => texts.find((column) => column.name.toLowerCase() === name) ?? [])[0]
  const id = usable.find(({ name }) => name.toLowerCase() === 'id') ?? usable[0]
  const others = texts.filter((column) => column !== id)
  const title = named(TITLES) ?? others[0]
  const body = named(BODIES) ?? others.find((column) => column !== title)
  return [...new Set([id, title, body].flatMap((column) => column?.name ?? []))]
}

/** Few and telling: what is true or false, and one of a few words is not known from a type. */
const filtersOf = ({ columns }: SourceTable): (readonly [string, FilterType])[] =>
  columns.filter(({ type }) => type === 'bool').map(({ name }) => [name, 'boolean'] as const)

const LABEL = /[^\p{L}\p{N} ._-]/gu

function labelFor(table: string, taken: ReadonlySet<string>): string {
  const [own, whole] = [table.slice(table.indexOf('.') + 1), table].map((name) =>
    name
      .replaceAll(LABEL, '-')
      .replace(/^[^\p{L}\p{N}]+/u, '')
      .slice(0, 50),
  )
  const candidates = [
    own,
    whole,
    ...Array.from({ length: ENTRIES_MAX }, (_, at) => `${own || 'table'} ${at + 2}`),
  ]
  return candidates.find((label) => label && !taken.has(label))!
}
