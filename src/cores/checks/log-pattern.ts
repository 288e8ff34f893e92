/** The pattern of a logs check: text that a line contains, ignoring case, or a regular expression between slashes. */
import { RE2JS } from 're2js'

export type LogPattern = { readonly text: string } | { readonly regex: { test(line: string): boolean } }

/** Undefined: a regular expression that cannot be read. RE2 knows none that takes more than linear time. */
export function readLogPattern(pattern: string): LogPattern | undefined {
  const [, source] = /^\/(.+)\/$/s.exec(pattern) ?? []
  if (source === undefined) return { text: pattern }
  try {
    const compiled = RE2JS.compile(source)
    return { regex: { test: (line) => compiled.matcher(line).find() } }
  } catch {
    return undefined
  }
}
