/** A hit as the tools `search` and `fetch` show it. */
import type { Hit } from '../../src/contracts/data-sources.ts'

/** The second column is shown as a title, whatever it holds. */
export const TITLE_CHARACTERS = 300

/** Added by the search itself. */
const SEARCH_COLUMNS: ReadonlySet<string> = new Set([
  '_score',
  '_target',
  '_mode',
  '_found_by',
  '_handle',
  '_source',
])

/** Columns of a passage that are shown by themselves. */
const PASSAGE_COLUMNS: ReadonlySet<string> = new Set(['heading', 'passage'])

/** Of passages the text alone, with its headings above it; of other rows every column with its name. */
export function hitText(hit: Hit): string {
  const { metadata, passages } = hit
  const { heading, passage } = metadata
  if (typeof heading !== 'string' || typeof passage !== 'string') return columnsText(hit)
  const others = columnsText(hit, PASSAGE_COLUMNS)
  let before = ''
  const texts = (passages ?? [{ heading, passage }]).map((one) => {
    const text = one.heading === before ? one.passage : `${one.heading}\n${one.passage}`
    before = one.heading
    return text
  })
  return [...texts, others].filter(Boolean).join('\n\n')
}

const columnsText = ({ metadata }: Hit, without: ReadonlySet<string> = new Set()): string =>
  Object.entries(metadata)
    .filter(([name]) => !SEARCH_COLUMNS.has(name) && !without.has(name))
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n')

/** From the configuration only: a Host header must not choose where agents send people. */
export const hitUrl = (appUrl: URL, sourceId: string, { url }: Hit): string =>
  url ?? new URL(`/console/data-sources/${encodeURIComponent(sourceId)}`, appUrl).href
