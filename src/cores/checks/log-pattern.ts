/** The pattern of a logs check: text that a line contains, ignoring case, or a regular expression between slashes. */
import { RE2JS } from 're2js'

type LogPattern = { readonly text: string } | { readonly source: string }

export function readLogPattern(pattern: string): LogPattern {
  const [, source] = /^\/(.+)\/$/s.exec(pattern) ?? []
  return source === undefined ? { text: pattern } : { source }
}

/** Instructions: each character of a line may cost as many steps. A pattern of 500 letters has 502. */
const PROGRAM_MAX = 1_000
/** The same before it is compiled, which writes out all repetitions: half a million instructions of 500 characters. */
const WRITTEN_MAX = 10 * PROGRAM_MAX

/** False: a regular expression that cannot be read, or that would take too long. */
export function isLogPattern(pattern: string): boolean {
  const read = readLogPattern(pattern)
  if ('text' in read) return true
  if (writtenSize(read.source) > WRITTEN_MAX) return false
  try {
    return RE2JS.compile(read.source).programSize() <= PROGRAM_MAX
  } catch {
    return false
  }
}

/**
 * What is written out at most: a repeated character or class is added so many times, and a repeated group multiplies all
 * there is, as if each were inside the others. Behind `(?i)` and an empty quotation, too, may be meant the group before.
 */
function writtenSize(source: string): number {
  let size = source.length
  let factor = 1
  for (const [, group, least, most] of source.matchAll(/(\)|\\E)?\{(\d+)(?:,(\d*))?\}/g)) {
    const times = Math.max(1, Number(most || least))
    if (group === undefined) size += times
    else factor *= times
  }
  return size * factor
}
