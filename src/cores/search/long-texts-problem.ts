/** Rows whose text is longer than the built-in model reads: they are found by its beginning, and somebody should know. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { SearchEntry } from '../../contracts/data-sources.ts'
import { BUILT_IN_MODEL } from '../../contracts/embedding-settings.ts'
import { PASSAGE_TOKENS } from '../../contracts/limits.ts'
import type { SourceProblem } from '../../contracts/source-health.ts'
import type { Queries, SourceRow } from '../databases/index.ts'
import { isOfPassages } from './passages.ts'
import { parseColumnList, parseTableName, passagesTable, quoteTable } from './quote.ts'
import { countIn } from './read-rows.ts'
import { passagesFor } from './row-passages.ts'
import type { TableInfo } from './table-info.ts'

/** In bytes, which the database knows without reading a value. English has less of them to a token, and others still less. */
export const READ_BYTES = 6 * PASSAGE_TOKENS
/** Rows that are counted. */
const COUNTED_MAX = 100_000

const TEXT_TYPES = new Set(['text', 'varchar', 'bpchar'])

/** What was embedded nobody has told us: the longest text that a hit shows stands for it. */
export async function longTextsProblem(
  queries: Queries,
  source: SourceRow,
  entry: SearchEntry,
  tableInfo: TableInfo,
): Promise<SourceProblem | undefined> {
  if (entry.model !== BUILT_IN_MODEL.name || isOfPassages(source, entry)) return undefined
  const texts = parseColumnList(entry.content_columns)
    .slice(1)
    .filter((name) => TEXT_TYPES.has(tableInfo.columns.get(name)?.type ?? ''))
  if (texts.length === 0) return undefined
  const longest = texts.map((name) => `coalesce(octet_length(${quoteIdentifier(name)}), 0)`).join(', ')
  const passages = passagesFor({ entry, tableInfo })
  const divided = passages
    ? `exists (select from ${passagesTable(parseTableName(entry.table).table)} p where p.row_id = t.${quoteIdentifier(passages.key)})`
    : 'false'
  const [counted] = await queries.query<{ rows: number; long: number }>(
    `select count(*)::int as rows, (count(*) filter (where bytes > ${READ_BYTES} and not divided))::int as long ` +
      `from (select greatest(${longest}) as bytes, ${divided} as divided from ${quoteTable(entry.table)} t limit ${COUNTED_MAX}) measured`,
  )
  const [rows, long] = [countIn(counted, 'rows'), countIn(counted, 'long')]
  if (long === 0) return undefined
  const all = `${rows === COUNTED_MAX ? 'the first ' : ''}${rows.toLocaleString('en')} rows`
  return {
    kind: 'long_texts',
    text: `${entry.label}: ${long.toLocaleString('en')} of ${all} have a text that is longer than ${entry.model} reads (${PASSAGE_TOKENS} tokens): by meaning they are found by its beginning alone`,
  }
}
