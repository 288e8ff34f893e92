/** Addresses of an app's source in the console. */
import { tabPath } from './app-tabs.ts'

/** Lines of a file on one page. */
export const PAGE_LINES = 2_000

export function sourcePath(
  alias: string,
  { revision, path, line }: { revision?: string | undefined; path?: string; line?: number } = {},
): string {
  const query = new URLSearchParams()
  if (revision !== undefined) query.set('revision', revision)
  if (path !== undefined && path !== '') query.set('path', path)
  if (line !== undefined && line > PAGE_LINES) query.set('from', String(firstLineOf(line)))
  const search = query.size > 0 ? `?${query}` : ''
  return `${tabPath(alias, 'source')}${search}${line === undefined ? '' : `#L${line}`}`
}

/** Of the page that has this line. */
const firstLineOf = (line: number): number => line - ((line - 1) % PAGE_LINES)

export const revisionsPath = (alias: string): string => `${tabPath(alias, 'source')}/revisions`

export function diffPath(alias: string, revision: string, base?: string): string {
  const query = new URLSearchParams({ revision, ...(base === undefined ? {} : { base }) })
  return `${tabPath(alias, 'source')}/diff?${query}`
}
