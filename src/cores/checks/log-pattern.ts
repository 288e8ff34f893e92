/** The pattern of a logs check: text that a line contains, ignoring case, or a regular expression between slashes. */
import { RE2JS } from 're2js'
import { PLACEHOLDER } from '../logs/index.ts'

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

/** Shorter than a check may have: a line is found by its beginning, too, and at less cost. */
const PATTERN_MAX = 200

/** A pattern that finds the lines of a group, by its template and one of its lines. */
export function patternFor(template: string, line: string): string {
  // A template that was too long may end in the middle of one.
  const whole = template.replace(/<[a-z]{0,7}$/, '')
  const isText = !PLACEHOLDER.test(whole) && line.toLowerCase().includes(whole.toLowerCase())
  if (isText && whole.length <= PATTERN_MAX && !/^\/.+\/$/s.test(whole)) return whole
  let source = ''
  for (const part of whole.split(/(<[a-z]+>|\s+)/)) {
    const next = PLACEHOLDER.test(part) ? '.+' : /^\s/.test(part) ? '\\s+' : escaped(part)
    if (source.length + next.length > PATTERN_MAX) break
    source += next
  }
  return `/${source || escaped(whole.slice(0, PATTERN_MAX / 2))}/`
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** Whether a check with this pattern surely counts such a line. Regular expressions are compared, not run: that takes time. */
export function looksFor(pattern: string, template: string, line: string): boolean {
  const read = readLogPattern(pattern)
  return 'text' in read
    ? line.toLowerCase().includes(read.text.toLowerCase())
    : pattern === patternFor(template, line)
}
