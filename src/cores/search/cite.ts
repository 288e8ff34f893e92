/** Makes a hit a citation: the address that opens exactly it, the digest of what it was read from, and as of when that was. */
import { createHash } from 'node:crypto'
import type { Hit, SearchEntry } from '../../contracts/data-sources.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { sourceIdOf, type SourceRow } from '../databases/index.ts'
import type { Clock } from '../dependencies.ts'
import { isOfPassages } from './passages.ts'
import { parseColumnList } from './quote.ts'
import { createLink } from './row-handle.ts'
import { fillUrlTemplate } from './url-template.ts'

export type CitationDeps = {
  readonly dataKeys: DataKeys
  readonly clock: Clock
  /** Where the console is. */
  readonly appUrl: URL
}

export const cite =
  (deps: CitationDeps, source: SourceRow, entry: SearchEntry) =>
  (hit: Hit): Hit => {
    const columns = parseColumnList(entry.content_columns)
    const url = urlOf(deps, source, entry, columns, hit)
    const { sha256, as_of, ...metadata } = hit.metadata
    if (isOfPassages(source, entry) && typeof sha256 === 'string' && typeof as_of === 'string') {
      // Of the file, which people can compare with theirs; and since when it has been published here.
      return { ...hit, url, digest: sha256, as_of: new Date(as_of).toISOString(), metadata }
    }
    return { ...hit, url, digest: digestOf(columns, hit), as_of: deps.clock().toISOString() }
  }

function urlOf(
  { appUrl, dataKeys }: CitationDeps,
  source: SourceRow,
  { label, url_template: template }: SearchEntry,
  columns: readonly string[],
  hit: Hit,
): string {
  const elsewhere = template === undefined ? undefined : fillUrlTemplate(template, columns, hit)
  if (elsewhere !== undefined) return elsewhere
  const page = `/console/data-sources/${sourceIdOf(source.name)}`
  const link = createLink(dataKeys, source, { label, id: hit.id })
  return new URL(link === undefined ? page : `${page}/rows/${link}`, appUrl).href
}

/** An answer has many rows and is short: half of it tells two versions of a row apart as well. */
const ROW_DIGEST_CHARACTERS = 32

/** Of the columns that are returned, each as far as an answer can show it. */
const digestOf = (columns: readonly string[], { id, title, metadata }: Hit): string =>
  createHash('sha256')
    .update(JSON.stringify([id, title, ...columns.slice(2).map((name) => metadata[name])]))
    .digest('hex')
    .slice(0, ROW_DIGEST_CHARACTERS)
