/**
 * The rows of one table by the words of a question, ranked as BM25 ranks them (Robertson and Zaragoza, 2009): a rare word
 * counts more than a common one, a second mention less than the first, and a long row wins nothing by its length. One
 * statement, from the words that the table keeps: the index finds each word's rows, the best of those are scored.
 */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { Hit, SearchEntry, WordStatistics } from '../../contracts/data-sources.ts'
import type { Queries } from '../databases/index.ts'
import { buildTsvector, languageOf, unusedColumnName } from './full-text.ts'
import { hitsOf, rawColumns, textColumns, type FoundRow } from './nearest-rows.ts'
import { parseTableName, quoteTable, vectorLiteral } from './quote.ts'
import { checkRows } from './read-rows.ts'
import { distanceOfFound } from './row-passages.ts'
import { distanceOf, filterConditions, isVectorSearch, versionOf, type TableSearch } from './table-search.ts'

/** The published defaults, those of Lucene: how soon further mentions stop counting, and how much the length does. */
const K1 = 1.2
const B = 0.75

/** Words of one question that are searched for; a page of text pasted as a question has hundreds. */
const WORDS_MAX = 32
/** Rows of one word that are read from the index. A word in more of them counts in the rows of the others, and finds none. */
const ROWS_OF_WORD = 10_000
/** Rows that are scored, those with the rarest words: on SciFact the first hits are the same as if all were. */
const scoredLimit = (limit: number): number => Math.max(200, 5 * limit)
/** Rows that are counted for the frequencies of a question with filters, and those that tell how frequent a common word is. */
const COUNTED_MAX = 100_000
const SAMPLE = 500

/** A lexeme is already stemmed: quoted, it becomes a query for itself and is not stemmed again. */
const LEXEME_AS_QUERY = String.raw`('''' || replace(replace(word, '\', '\\'), '''', '''''') || '''')::tsquery`

/**
 * How often a row has a word. Postgres counts it in ts_rank alone, which of one word is 6/π² · (1 + 1/4 + … + 1/n²) for n
 * mentions; what is missing to the sum's limit is 1/(n + 1/2) but for a rest that rounding takes away, up to the 255
 * mentions that a tsvector keeps.
 */
const MENTIONS = `round(1 / (pi() * pi() / 6 * (1 - ts_rank('{1,1,1,1}', w, q)::float8)) - 0.5)`
/** ts_rank divides by the number of a row's words where it is told to (2), so that number is its quotient by the undivided. */
const LENGTH = `round(ts_rank('{1,1,1,1}', w, any_word)::float8 / ts_rank('{1,1,1,1}', w, any_word, 2))`

/** With what BM25 gives it, best first. */
export type WordHit = { readonly hit: Hit; readonly worth: number }

export async function wordRows(
  queries: Queries,
  search: TableSearch & { readonly statistics?: WordStatistics | undefined },
  question: string,
): Promise<readonly WordHit[]> {
  const { entry, tableInfo, statistics } = search
  const conditions = filterConditions(search, 3)
  if (!conditions) return []
  const parameters: string[] = [
    isVectorSearch(search) ? vectorLiteral(search.vector) : '',
    question,
    ...conditions.map(({ parameter }) => parameter),
  ]
  const parameter = (value: string) => `$${parameters.push(value)}`
  const { table, words, before, isStored } = rowsWithWords(search)
  const vector = isVectorSearch(search) ? quoteIdentifier(entry.columns[0]!) : undefined
  const seen = [
    vector ? `${vector} is not null` : '$1::text is not null',
    ...conditions.map(({ text }) => text),
  ].join(' and ')
  // Statistics come from rows that whoever asks may see, so that others move no score. With a filter or an access column
  // they are those of the rows that it keeps.
  const ofAll = conditions.length === 0
  const rows = ofAll ? Math.max(tableInfo.rows, statistics?.rows ?? 0) : 0
  const total = rows > 0 ? `${parameter(String(rows))}::float8` : `(select rows from total)`
  const mean =
    ofAll && statistics ? `${parameter(String(statistics.meanLength))}::float8` : 'avg(length) over ()'
  const isTable = isStored && ['r', 'p', 'm'].includes(tableInfo.kind)
  // A view has no places of rows, a login for some columns may not read them, and words that are built have no index: there
  // all rows of the words are scored.
  const hasPlaces = isTable && tableInfo.isWhole
  const knowsShares = ofAll && isTable && tableInfo.hasStatistics && rows > ROWS_OF_WORD
  const statement = withParts(before, {
    lexemes: `select lexeme as word from unnest(to_tsvector('${languageOf(entry)}', $2::text)) order by positions[1] limit ${WORDS_MAX}`,
    // A number behind a hyphen is a negative one to Postgres (ABC-4711): it is searched for with and without its sign.
    asked: `select word from lexemes union select case when word like '-%' then substr(word, 2) else '-' || word end
      from lexemes where word ~ '^-?[0-9]+$'`,
    total: `select count(*)::float8 as rows from (select from ${table} r where ${seen} limit ${COUNTED_MAX}) counted`,
    shares: knowsShares
      ? commonShares(entry, parameter)
      : 'select null::text as word, 0::float8 as share where false',
    expected: `select word, ${LEXEME_AS_QUERY} as q, coalesce(share * ${total}, 0) as expected from asked left join shares using (word)`,
    known: `select *, expected <= ${ROWS_OF_WORD} or row_number() over (order by expected, word) = 1 as is_read from expected`,
    matches: `select word, part, place from known cross join lateral
      (select ${hasPlaces ? 'r.tableoid as part, r.ctid as place' : 'null::oid as part, null::tid as place'}
        from ${table} r where ${words} @@ known.q and ${seen} limit ${ROWS_OF_WORD + 1}) found where is_read`,
    numbers: 'select word, count(*) as n from matches group by word',
    counted: `select word, q, expected, case when is_read then coalesce(n, 0) end as n from known left join numbers using (word)`,
    sample: `select ${words} || ''::tsvector as w from ${table} r where ${seen} limit ${SAMPLE}`,
    frequent: `select word, q, n, (case when n <= ${ROWS_OF_WORD} then n when expected > ${ROWS_OF_WORD} then expected
      else greatest(n, ${total} * (select avg((w @@ q)::int) from sample)) end)::float8 as f from counted where n is null or n > 0`,
    // Statistics may be older than the rows.
    weighed: `select word, q, n, sum(n) over (order by n, word) as together,
      n <= ${ROWS_OF_WORD} or not coalesce(bool_or(n <= ${ROWS_OF_WORD}) over (), false) as finds,
      ln(1 + (greatest(${total}, max(f) over ()) - f + 0.5) / (f + 0.5)) as weight from frequent`,
    best: `select part, place from matches join weighed using (word) where finds group by part, place
      order by sum(weight) desc fetch first ${scoredLimit(search.limit)} rows with ties`,
    // `||` unpacks a long row's words once, not for every word; `offset 0` keeps the planner from undoing that.
    measured: `select *, ${LENGTH} as length from (
      select ${rawColumns(entry)}, ${vector ? `${vector} as v, ` : ''}${words} || ''::tsvector as w
        from ${table} r where ${hasPlaces ? IS_BEST : `${words} @@ ${FINDING} and ${seen}`} offset 0) candidates,
      (select string_agg(q::text, ' | ')::tsquery as any_word from weighed) any_of`,
    scored: `select *, (select sum(weight * ${K1 + 1} * mentions / (mentions + ${K1} * (${1 - B} + ${B} * length / mean)))
      from (select weight, ${MENTIONS} as mentions from weighed) mentioned)::float8 as worth
      from (select *, ${mean} as mean from measured) compared order by worth desc, c0::text collate "C" limit ${search.limit}`,
  })
  const found = await queries.query<FoundRow & { readonly worth: number }>(
    `${statement} select ${textColumns(entry)}, ${isVectorSearch(search) ? `(${distanceOfFound(search, distanceOf(search, 'v'))})::float8` : 'worth'} as distance, worth, ${versionOf(search)} as version ` +
      `from scored order by worth desc, c0::text collate "C"`,
    parameters,
  )
  checkRows(found, { max: search.limit, texts: [], numbers: ['worth', 'distance'] })
  // The distance to a zero vector is no number.
  const near = found.filter(({ distance }) => Number.isFinite(distance))
  return hitsOf(search, near).map((hit, at) => ({ hit, worth: near[at]!.worth }))
}

const IS_BEST = '(r.tableoid, r.ctid) in (select best.part, best.place from best)'
const FINDING = `(select string_agg(q::text, ' | ')::tsquery from weighed
  where finds and (together <= ${ROWS_OF_WORD} or together = n))`

/** Each by itself and once, in this order. */
const withParts = (before: string, parts: Readonly<Record<string, string>>): string =>
  `with ${before}${Object.entries(parts)
    .map(([name, text]) => `${name} as materialized (${text})`)
    .join(', ')}`

/** The planner's: of a tsvector column it knows the thousand most frequent words. */
function commonShares(entry: SearchEntry, parameter: (value: string) => string): string {
  const { schema, table } = parseTableName(entry.table)
  return (
    `select common.word, max(common.share) as share from pg_catalog.pg_stats s, ` +
    `unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) common (word, share) ` +
    `where s.schemaname = ${parameter(schema)} and s.tablename = ${parameter(table)} ` +
    `and s.attname = ${parameter(entry.text_search_column!)} and common.word in (select word from asked) group by common.word`
  )
}

type RowsWithWords = {
  readonly table: string
  readonly words: string
  readonly before: string
  readonly isStored: boolean
}

/** Words that no column keeps are built once for all words of the question. */
function rowsWithWords({ entry, tableInfo }: TableSearch): RowsWithWords {
  const table = quoteTable(entry.table)
  if (entry.text_search_column !== undefined) {
    return { table, words: `r.${quoteIdentifier(entry.text_search_column)}`, before: '', isStored: true }
  }
  const column = quoteIdentifier(unusedColumnName('words', tableInfo))
  return {
    table: 'built',
    words: `r.${column}`,
    before: `built as materialized (select t.*, ${buildTsvector(entry, 't')} as ${column} from ${table} t), `,
    isStored: false,
  }
}
