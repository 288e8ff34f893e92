/** Hits of a documents source: passages. Those of one document are one hit, and each is read with what stands around it. */
import type { Hit, HitPassage, SearchEntry } from '../../contracts/data-sources.ts'
import { DOCUMENTS_TABLE } from '../../contracts/documents.ts'
import { extractAround } from '../../contracts/matched-words.ts'
import type { Queries, SourceRow } from '../databases/index.ts'
import { languageOf } from './full-text.ts'
import type { Condition } from './filter-columns.ts'
import { parseColumnList, parseTableName, quoteTable } from './quote.ts'
import { checkRows } from './read-rows.ts'

/** Also the label of its entry in the search configuration. */
export const PASSAGES = DOCUMENTS_TABLE

/** What somebody has configured in another way is a table like any other. */
export function isOfPassages({ documents }: SourceRow, { table, content_columns }: SearchEntry): boolean {
  if (documents === null) return false
  const { schema, table: name } = parseTableName(table)
  const columns = parseColumnList(content_columns)
  return (
    schema === 'public' &&
    name === PASSAGES &&
    columns[0] === 'id' &&
    ['heading', 'passage', 'path'].every((column) => columns.includes(column))
  )
}

/** Some passages of one document come together: so many are searched that there are enough of them left as hits. */
export const passagesSearched = (hits: number): number => 3 * hits

const FURTHER_MAX = 2

/** Best first. Further passages of a document are named only where they would have been hits themselves. */
export async function foldPassages(
  queries: Queries,
  entry: SearchEntry,
  question: string,
  { found, limit }: { readonly found: readonly Hit[]; readonly limit: number },
): Promise<Hit[]> {
  const documents = new Map<string, Hit[]>()
  for (const [at, hit] of found.entries()) {
    const path = textIn(hit, 'path')
    const known = documents.get(path)
    if (!known) documents.set(path, [hit])
    else if (at < limit && known.length <= FURTHER_MAX) known.push(hit)
  }
  const folded = [...documents.values()].slice(0, limit)
  const marked = (await withMatchedWords(queries, entry, question, folded.flat())).values()
  return folded.map((passages) => {
    const [best, ...further] = passages.map(() => marked.next().value!)
    return further.length === 0 ? best! : { ...best!, passages: further.map(furtherOf) }
  })
}

/** Two lines: the whole is behind its address. */
const EXTRACT_CHARACTERS = 240

const furtherOf = (hit: Hit): HitPassage => ({
  id: hit.id,
  heading: textIn(hit, 'heading'),
  passage: extractAround(textIn(hit, 'passage'), hit.matched ?? [], EXTRACT_CHARACTERS),
  ...(hit.url !== undefined && { url: hit.url }),
})

const textIn = ({ metadata }: Hit, column: string): string =>
  typeof metadata[column] === 'string' ? metadata[column] : ''

const MATCHED_MAX = 12
const WORDS_MAX = 32
/** Control characters, which no file is read with but by accident: then a word too few or too many is marked. */
const [START, END] = ['\u0002', '\u0003']

/** By the words that Postgres finds them by: "leaves" where the question has "leave". */
async function withMatchedWords(
  queries: Queries,
  entry: SearchEntry,
  question: string,
  hits: readonly Hit[],
): Promise<Hit[]> {
  if (hits.length === 0) return []
  const language = languageOf(entry)
  const rows = await queries.query<{ marked: string | null }>(
    `with asked as (select string_agg('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''', ' | ')::tsquery as q
        from (select lexeme from unnest(to_tsvector('${language}', $1::text)) order by positions[1] limit ${WORDS_MAX}) words)
      select ts_headline('${language}', passage, q, 'HighlightAll=true, StartSel=${START}, StopSel=${END}') as marked
      from asked, jsonb_array_elements_text($2::text::jsonb) with ordinality as given (passage, n) order by n`,
    [question, JSON.stringify(hits.map((hit) => textIn(hit, 'passage').replaceAll('\0', '')))],
  )
  checkRows(rows, { max: hits.length, texts: ['marked'], numbers: [] })
  return hits.map((hit, at) => ({ ...hit, matched: wordsIn(rows[at]?.marked ?? '') }))
}

const wordsIn = (marked: string): string[] => {
  const words = marked
    .split(START)
    .slice(1)
    .map((part) => part.slice(0, Math.max(0, part.indexOf(END))))
  return [...new Set(words)].filter((word) => word !== '').slice(0, MATCHED_MAX)
}

/** In the order of the document, with the passage itself. */
export type Around = { readonly passages: readonly HitPassage[]; readonly total: number }

/** On each side of it. */
const NEIGHBORS = 2
/** More than an answer has room for, however short they are. */
const DOCUMENT_PASSAGES = 400

export async function readAround(
  queries: Queries,
  { table }: SearchEntry,
  hit: Hit,
  { isWhole, seen }: { readonly isWhole: boolean; readonly seen: readonly Condition[] },
): Promise<Around> {
  // The document's own rights, asked again: each row that is read is one that this asker sees.
  const visible = `(select * from ${quoteTable(table)} where ${['true', ...seen.map(({ text }) => text)].join(' and ')})`
  const rows = await queries.query<{ id: string; heading: string; passage: string; total: number }>(
    `with found as materialized (select path, place from ${visible} v where id = $1),
      counted as materialized (select count(*)::int as total from ${visible} v where path = (select path from found))
      select p.id, p.heading, p.passage, total from counted, found join ${visible} p on p.path = found.path
      where ${isWhole ? 'true' : `p.place between found.place - ${NEIGHBORS} and found.place + ${NEIGHBORS}`}
      order by p.place limit ${DOCUMENT_PASSAGES}`,
    [hit.id, ...seen.map(({ parameter }) => parameter)],
  )
  checkRows(rows, { max: DOCUMENT_PASSAGES, texts: ['id', 'heading', 'passage'], numbers: ['total'] })
  const passages = rows.map(({ id, heading, passage }, at) => ({
    id,
    heading,
    passage: withoutOverlap(rows[at - 1]?.passage ?? '', passage),
  }))
  return { passages, total: rows[0]?.total ?? 0 }
}

/** The sentence with which a passage repeats the end of the one before. */
function withoutOverlap(before: string, passage: string): string {
  for (const { index } of passage.matchAll(/(?<=[^\s])\s+/g)) {
    if (index > before.length) break
    const isSaidAgain = index >= OVERLAP_MIN && before.endsWith(passage.slice(0, index))
    if (isSaidAgain) return passage.slice(index).trimStart()
  }
  return passage
}
const OVERLAP_MIN = 10
