/**
 * Passages of rows whose text is longer than a model reads. A load keeps them in a table of the same name in a schema of ours,
 * and a row is as near to a question as the nearest of its own vector and those of its passages. Filters, and who sees what,
 * are asked of the row alone; passages without a row are nobody's.
 */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { Hit } from '../../contracts/data-sources.ts'
import { LOAD_RECORD_BYTES } from '../../contracts/limits.ts'
import type { Queries } from '../databases/index.ts'
import type { Condition } from './filter-columns.ts'
import { unusedColumnName } from './full-text.ts'
import { parseColumnList, parseTableName, passagesTable, quoteTable, vectorLiteral } from './quote.ts'
import { databaseFailureOf } from './database-failure.ts'
import { checkRows, type RowPassages } from './read-rows.ts'
import {
  distanceOf,
  filterConditions,
  versionOf,
  type TableSearch,
  type VectorSearch,
} from './table-search.ts'

/** The only one that a load fills. */
const EMBEDDED_COLUMN = 'embedding'

const nameOf = ({ entry }: Pick<TableSearch, 'entry'>): string =>
  passagesTable(parseTableName(entry.table).table)

/** Undefined: there are none, or they say something else than the rows that this entry finds. */
export function passagesFor({
  entry,
  tableInfo,
}: Pick<TableSearch, 'entry' | 'tableInfo'>): RowPassages | undefined {
  const { passages } = tableInfo
  const isOfEntry =
    passages?.key === parseColumnList(entry.content_columns)[0] &&
    passages?.model === entry.model &&
    passages?.dimensions === entry.dimensions &&
    entry.columns[0] === EMBEDDED_COLUMN
  return isOfEntry ? passages : undefined
}

/** The distance of each row, and what is joined to the table for it. */
export function nearestOfRow(
  search: VectorSearch,
  conditions: readonly Condition[],
): { readonly distance: string; readonly join: string } {
  const own = distanceOf(search)
  const passages = passagesFor(search)
  if (!passages) return { distance: own, join: '' }
  const table = quoteTable(search.entry.table)
  const key = quoteIdentifier(passages.key)
  const [row, near] = ['near_row', 'near_distance'].map((name) =>
    quoteIdentifier(unusedColumnName(name, search.tableInfo)),
  )
  const seen =
    conditions.length === 0
      ? ''
      : `where p.row_id in (select ${key} from ${table} where ${conditions.map(({ text }) => text).join(' and ')}) `
  return {
    distance: `least(${own}, ${near})`,
    join:
      ` left join (select p.row_id as ${row}, min(${distanceOf(search, 'p.embedding')}) as ${near} ` +
      `from ${nameOf(search)} p ${seen}group by p.row_id) near_passages on near_passages.${row} = ${table}.${key}`,
  }
}

/** Of a row that is found by its words: `c0` is its key. */
export const distanceOfFound = (search: VectorSearch, own: string): string =>
  passagesFor(search)
    ? `least(${own}, (select min(${distanceOf(search, 'p.embedding')}) from ${nameOf(search)} p where p.row_id = c0))`
    : own

/** Of JavaScript: those of a regular expression in Postgres depend on the locale of its server. */
const BLANKS =
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'.split(
    '',
  )

/** A passage has one where a paragraph had the end of a line. One after the other, in a fifth of the time of an expression. */
const withoutBlanks = (text: string): string =>
  BLANKS.reduce((rest, blank) => `replace(${rest}, '${blank}', '')`, text)

/** More than any has that a load has made. */
const PASSAGE_CHARACTERS = 4_000

/** With the text of the passage that is nearest. Hits are worth more than that: where it takes too long they go without. */
export const withNearestPassage = (
  queries: Queries,
  search: TableSearch,
  hits: readonly Hit[],
): Promise<readonly Hit[]> =>
  addNearestPassage(queries, search, hits).catch((error: unknown) => {
    if (databaseFailureOf(error)?.kind !== 'too_slow') throw error
    return hits
  })

/** Where it still stands in what a hit shows of the row. */
async function addNearestPassage(
  queries: Queries,
  search: TableSearch,
  hits: readonly Hit[],
): Promise<readonly Hit[]> {
  const passages = passagesFor(search)
  const { entry, vector } = search
  const conditions = filterConditions(search, 3)
  if (!passages || !vector || !conditions || hits.length === 0) return hits
  const key = quoteIdentifier(passages.key)
  const shown = parseColumnList(entry.content_columns).map(
    (name) => `left(t.${quoteIdentifier(name)}::text, ${LOAD_RECORD_BYTES})`,
  )
  const rows = await queries.query<{ id: string; passage: string; version: string }>(
    `select t.${key}::text as id, left(near.passage, ${PASSAGE_CHARACTERS}) as passage, ${versionOf(search)} as version from
        (select * from ${quoteTable(entry.table)} where ${['true', ...conditions.map(({ text }) => text)].join(' and ')}) t
        cross join lateral (select p.passage from ${nameOf(search)} p where p.row_id = t.${key}
          order by ${distanceOf({ ...search, vector }, 'p.embedding')}, p.place limit 1) near
      where t.${key} in (select one::${passages.keyType} from jsonb_array_elements_text($2::text::jsonb) one)
        and position(${withoutBlanks('near.passage')} in ${withoutBlanks(`concat(${shown.join(', ')})`)}) > 0 limit ${hits.length}`,
    [
      vectorLiteral(vector),
      JSON.stringify(hits.map(({ id }) => id)),
      ...conditions.map(({ parameter }) => parameter),
    ],
  )
  checkRows(rows, { max: hits.length, texts: ['id', 'passage'], numbers: [] })
  // Those of a version that came since the rows were found are not theirs.
  const ofVersion = rows.filter(({ version }) => search.versions?.has(version) ?? true)
  const found = new Map(ofVersion.map(({ id, passage }) => [id, passage]))
  return hits.map((hit) =>
    found.has(hit.id) ? { ...hit, metadata: { ...hit.metadata, _passage: found.get(hit.id) } } : hit,
  )
}

/** Several of them may be of one row. */
const searchedFor = (limit: number): number => Math.max(150, 15 * limit)

/** The rows of the nearest passages, through their index; `farthest` is the last that was looked at. */
export function passagesStatement(
  search: VectorSearch,
  conditions: readonly Condition[],
  shown: Shown,
): string {
  const { key } = passagesFor(search)!
  const table = quoteTable(search.entry.table)
  const column = `${table}.${quoteIdentifier(key)}`
  const [row, near] = ['near_row', 'near_distance'].map((name) =>
    quoteIdentifier(unusedColumnName(name, search.tableInfo)),
  )
  const texts = conditions.map(({ text }) => text)
  const own = `${quoteIdentifier(search.entry.columns[0]!)} is not null`
  // Asked of one passage after the other, in the order of the index.
  const seen = `(select true from ${table} where ${[`${column} = p.row_id`, own, ...texts].join(' and ')} limit 1)`
  const distance = distanceOf(search, 'p.embedding')
  return (
    // Named first, as everywhere: whoever puts another version in its place takes them in that order, too.
    `with ours as (select from ${table}), near as materialized (select p.row_id, (${distance})::float8 as distance from ${nameOf(search)} p ` +
    `where ${seen} order by ${distance} limit ${searchedFor(search.limit)}), ` +
    `best as materialized (select near.row_id as ${row}, min(near.distance) as ${near} from near group by near.row_id) ` +
    `select ${shown.texts}, distance, ${versionOf(search)} as version, (select count(*)::float8 from near) as searched, ` +
    `(select max(near.distance) from near) as farthest ` +
    `from (select ${shown.raw}, ${near} as distance from best join ${table} on ${column} = ${row} ` +
    `where ${[own, ...texts].join(' and ')}) found order by distance + 0, c0::text collate "C" limit ${search.limit}`
  )
}

type Shown = { readonly raw: string; readonly texts: string }
type Found = { readonly distance: number } & Readonly<Record<string, string | number | null>>
type OfPassages = Found & { readonly searched: number; readonly farthest: number }

/**
 * Rows found by their own vectors and by those of passages, each once. Not sure: without a filter, rows whose passages were not
 * looked at may be nearer than the last of them.
 */
export function mergeNearest(
  byRows: readonly Found[],
  byPassages: readonly OfPassages[],
  limit: number,
): { readonly rows: readonly Found[]; readonly isSure: boolean } {
  checkRows(byPassages, { max: limit, texts: [], numbers: ['distance', 'searched', 'farthest'] })
  const best = new Map<string, Found>()
  for (const row of [...byRows, ...byPassages]) {
    const id = String(row['c0'])
    const known = best.get(id)
    if (!known || row.distance < known.distance) best.set(id, row)
  }
  const rows = [...best.values()]
    .toSorted(
      (a, b) =>
        a.distance - b.distance || Buffer.compare(Buffer.from(String(a['c0'])), Buffer.from(String(b['c0']))),
    )
    .slice(0, limit)
  const { searched = 0, farthest = -Infinity } = byPassages[0] ?? {}
  const isAll = searched < searchedFor(limit)
  return { rows, isSure: isAll || (rows.length === limit && rows.at(-1)!.distance <= farthest) }
}
