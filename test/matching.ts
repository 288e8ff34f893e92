/** Patterns of test files in a configuration, each of which must match a file: the runner says nothing of stale ones. */
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

export function matching(...patterns: string[]): string[] {
  const stale = patterns.filter((pattern) => globSync(pattern, { cwd: ROOT }).length === 0)
  if (stale.length) throw new Error(`No file matches ${stale.join(', ')}, which the test configuration names`)
  return patterns
}

/** The files that such patterns match. */
export const files = (patterns: readonly string[]): string[] =>
  patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).toSorted()
