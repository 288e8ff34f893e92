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

export const hitText = ({ metadata }: Hit): string =>
  Object.entries(metadata)
    .filter(([name]) => !SEARCH_COLUMNS.has(name))
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n')

/** From the configuration only: a Host header must not choose where agents send people. */
export const sourceUrl = (appUrl: URL, sourceId: string): string =>
  new URL(`/console/data-sources/${encodeURIComponent(sourceId)}`, appUrl).href
