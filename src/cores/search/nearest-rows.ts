/**
 * The nearest rows of one table. Few rows to look at: exact, with the vector index kept out. Many: through the index,
 * with more rows than asked for, sorted again; so a filter that keeps 1 % of the rows still finds what it should.
 */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { Hit, Metric, SearchEntry } from '../../contracts/data-sources.ts'
import { ANSWER_MAX_BYTES } from '../../contracts/limits.ts'
import type { Queries } from '../databases/index.ts'
import type { Condition } from './filter-columns.ts'
import { parseColumnList, quoteTable, vectorLiteral } from './quote.ts'
import { checkRows, estimateIn, jsonIn } from './read-rows.ts'
import { mergeNearest, nearestOfRow, passagesFor, passagesStatement } from './row-passages.ts'
import {
  distanceOf,
  filterConditions,
  versionOf,
  type TableSearch,
  type VectorSearch,
} from './table-search.ts'

/** The index classes of pgvector. */
export const OPERATOR_CLASSES: Record<Metric, string> = {
  cosine: 'vector_cosine_ops',
  l2: 'vector_l2_ops',
  inner_product: 'vector_ip_ops',
}

/**
 * Numbers to compare that an exact search may cost: 20 million are 52,000 rows of 384, 65 ms on a server of 2026.
 * Filtered HNSW found 20 to 84 % of the true neighbors in trials, so it is used only where exact would be too slow.
 */
const EXACT_FILTERED = 20_000_000
/** Without a filter the index finds 99.6 % of them, and is worth it from 5,000 rows of 384 on. */
export const EXACT_UNFILTERED = 2_000_000
/** The index gives rows nearly in order: this many are taken and sorted exactly. */
export const candidateLimit = (limit: number): number => Math.max(50, 5 * limit)

export async function nearestRows(queries: Queries, search: VectorSearch): Promise<readonly Hit[]> {
  const conditions = filterConditions(search, 2)
  if (!conditions) return []
  const strategy = await strategyFor(queries, search, conditions)
  const parameters = [vectorLiteral(search.vector), ...conditions.map(({ parameter }) => parameter)]
  if (strategy === 'index') {
    const rows = await throughIndex(queries, search, conditions, parameters)
    if (rows) return hitsOf(search, rows)
  }
  return hitsOf(search, await queries.query<FoundRow>(exactStatement(search, conditions), parameters))
}

/** Undefined: others may be nearer. */
async function throughIndex(
  queries: Queries,
  search: VectorSearch,
  conditions: readonly Condition[],
  parameters: readonly string[],
): Promise<readonly FoundRow[] | undefined> {
  const rows = await queries.query<FoundRow>(indexStatement(search, conditions), parameters)
  // The index gives up after some rows, whether or not they match: then few are no sign that there are no more.
  const isFiltered = conditions.length > 0
  if (isFiltered && rows.length < search.limit) return undefined
  if (!passagesFor(search)) return rows
  const shown = { raw: rawColumns(search.entry), texts: textColumns(search.entry) }
  const ofPassages = await queries.query<FoundRow & { searched: number; farthest: number }>(
    passagesStatement(search, conditions, shown),
    parameters,
  )
  const merged = mergeNearest(rows, ofPassages, search.limit)
  // With a filter the index is asked only where exact was too slow, and few long rows that match are no reason to try.
  const isTooSlow = isFiltered || costOf(search, Math.max(0, search.tableInfo.rows)) > EXACT_FILTERED
  return merged.isSure || isTooSlow ? merged.rows : undefined
}

/** Numbers to compare for so many rows, with those of their passages. */
function costOf(search: VectorSearch, rows: number): number {
  const { entry, tableInfo, vector } = search
  const each = 1 + Math.max(0, passagesFor(search)?.rows ?? 0) / Math.max(1, tableInfo.rows)
  return rows * each * (entry.dimensions ?? vector.length)
}

export async function strategyFor(
  queries: Queries,
  search: VectorSearch,
  conditions: readonly Condition[],
): Promise<'exact' | 'index'> {
  const { entry, tableInfo } = search
  const passages = passagesFor(search)
  const wanted = OPERATOR_CLASSES[entry.distance_metric]
  const hasIndex = tableInfo.indexes.some(
    ({ column, operators }) => column === entry.columns[0] && operators === wanted,
  )
  if (!hasIndex || passages?.operators.includes(wanted) === false) return 'exact'
  const budget = conditions.length === 0 ? EXACT_UNFILTERED : EXACT_FILTERED
  // -1: never counted. A table of that kind is small, or one whose index the planner cannot judge either.
  if (tableInfo.rows >= 0 && costOf(search, Math.max(1, tableInfo.rows)) <= budget) return 'exact'
  if (conditions.length === 0) return 'index'
  return costOf(search, await estimatedRows(queries, search)) <= budget ? 'exact' : 'index'
}

/** The planner's own guess, from its statistics: 0.3 ms, where counting would read them all. */
async function estimatedRows(queries: Queries, search: VectorSearch): Promise<number> {
  const conditions = filterConditions(search, 1) ?? []
  const [row] = await queries.query<{ 'QUERY PLAN': string }>(
    `explain (format json) select 1 from ${quoteTable(search.entry.table)} where ${conditions.map(({ text }) => text).join(' and ')}`,
    conditions.map(({ parameter }) => parameter),
  )
  return estimateIn(row?.['QUERY PLAN'])
}

const whereOf = ({ entry }: VectorSearch, conditions: readonly Condition[]): string =>
  [`${quoteIdentifier(entry.columns[0]!)} is not null`, ...conditions.map(({ text }) => text)].join(' and ')

/** The raw columns travel through the sort; only what is returned is turned into text. */
export const rawColumns = (entry: SearchEntry): string =>
  parseColumnList(entry.content_columns)
    .map((name, at) => `${quoteIdentifier(name)} as c${at}`)
    .join(', ')

/** Of each value a little more than an answer can show, so that one that was cut is still seen to be too long. */
const CUT = ANSWER_MAX_BYTES + 16

/** Cut by the database: a row may hold a gigabyte. */
export const textColumns = (entry: SearchEntry): string =>
  parseColumnList(entry.content_columns)
    .map((_name, at) => `left(${at < 2 ? `c${at}::text` : `to_json(c${at})::text`}, ${CUT}) as c${at}`)
    .join(', ')

/**
 * `+ 0` keeps the vector index out, and leaves the indexes on filtered columns in; as a column of its own it is computed once
 * for each row. Ties go by the id's text.
 */
export const exactStatement = (search: VectorSearch, conditions: readonly Condition[]): string => {
  const { distance, join } = nearestOfRow(search, conditions)
  return (
    `select ${textColumns(search.entry)}, distance, ${versionOf(search)} as version from (select ${rawColumns(search.entry)}, ` +
    `(${distance}) + 0 as distance from ${quoteTable(search.entry.table)}${join} ` +
    `where ${whereOf(search, conditions)} order by distance, ` +
    `${quoteIdentifier(parseColumnList(search.entry.content_columns)[0]!)}::text collate "C" limit ${search.limit}) found ` +
    `order by distance, c0::text collate "C"`
  )
}

export const indexStatement = (search: VectorSearch, conditions: readonly Condition[]): string =>
  `with near as materialized (select ${rawColumns(search.entry)}, (${distanceOf(search)})::float8 as distance ` +
  `from ${quoteTable(search.entry.table)} where ${whereOf(search, conditions)} ` +
  `order by ${distanceOf(search)} limit ${candidateLimit(search.limit)}) ` +
  `select ${textColumns(search.entry)}, distance, ${versionOf(search)} as version from near order by distance + 0, c0::text collate "C" limit ${search.limit}`

export type FoundRow = { readonly distance: number } & Readonly<Record<string, string | number | null>>

export function hitsOf(
  { entry, limit, versions }: Pick<TableSearch, 'entry' | 'limit' | 'versions'>,
  rows: readonly FoundRow[],
): Hit[] {
  const texts = parseColumnList(entry.content_columns).map((_name, at) => `c${at}`)
  checkRows(rows, { max: limit, texts, numbers: ['distance'] })
  for (const { version } of rows) versions?.add(String(version))
  const budget = { characters: PARSED_MAX_CHARACTERS }
  // A cosine to a zero vector is no number. Such rows are last in every order, so nothing is lost by leaving them out.
  return rows.filter(({ distance }) => Number.isFinite(distance)).map((row) => hitOf(entry, row, budget))
}

/** Of all lists and objects in one answer, which take many times their text in memory. Those beyond it stay JSON. */
const PARSED_MAX_CHARACTERS = 1024 * 1024

type Budget = { characters: number }

function hitOf(entry: SearchEntry, row: FoundRow, budget: Budget): Hit {
  const [, , ...others] = parseColumnList(entry.content_columns)
  return {
    id: text(row['c0']) ?? '',
    title: text(row['c1']),
    metadata: {
      ...Object.fromEntries(others.map((name, at) => [name, readJson(text(row[`c${at + 2}`]), budget)])),
      _score: entry.columns.length > 0 ? SCORES[entry.distance_metric](row.distance) : row.distance,
      _target: entry.label,
    },
  }
}

/** decisions: higher is always better. pgvector answers the negative inner product, so that smaller is nearer. */
const SCORES: Record<Metric, (distance: number) => number> = {
  cosine: (distance) => 1 - distance,
  l2: (distance) => 1 / (1 + distance),
  inner_product: (distance) => -distance,
}

const text = (value: string | number | null | undefined): string | null =>
  value === null || value === undefined ? null : String(value)

/** Whole numbers that a double cannot hold stay text: a wrong last digit is a wrong answer. */
function readJson(json: string | null, budget: Budget): unknown {
  if (json === null) return null
  // Postgres counts a character outside the basic plane once, so a cut text may be longer here.
  if (json.length >= CUT) return readCutJson(json)
  if (/^\s*[[{]/.test(json)) {
    budget.characters -= json.length
    if (budget.characters < 0) return json
  }
  return jsonIn(json, keepBigIntegers)
}

/** More than the longest escape, \u and four digits, has. */
const ESCAPE_MAX = 6

/** A text without its end is still a text, up to an escape that was cut in two; of anything else the JSON is shown. */
function readCutJson(json: string): string {
  if (!json.startsWith('"')) return json
  for (let less = 0; less <= ESCAPE_MAX; less += 1) {
    const text = parsedText(`${json.slice(0, json.length - less)}"`)
    if (text !== undefined) return `${text.toWellFormed()}…`
  }
  return json
}

function parsedText(json: string): string | undefined {
  try {
    return JSON.parse(json) as string
  } catch {
    return undefined
  }
}

const keepBigIntegers = (_key: string, value: unknown, { source }: { source?: string }): unknown =>
  typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value) ? source : value
