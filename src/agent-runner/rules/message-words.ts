/** Finds the statement that writes a log line by the words that never change: pairs of words are searched, the longest agreement wins. */
import { escapePattern, type Match } from './reader.ts'

/** Of the tool. */
const PATTERN_MAX = 480
const PAIRS_MAX = 14
/** Characters in a row that have to agree: fewer are found by chance. */
const AGREEMENT_MIN = 8

/** Null: there is nothing in it that could be searched. */
export function searchPattern(template: string): string | null {
  const pieces = fixedParts(template).flatMap(pairsIn)
  const chosen: string[] = []
  let length = 0
  for (const piece of [...new Set(pieces)].toSorted((a, b) => b.length - a.length).slice(0, PAIRS_MAX)) {
    const part = escapePattern(piece)
    if (length + part.length + 1 > PATTERN_MAX) break
    chosen.push(part)
    length += part.length + 1
  }
  return chosen.length === 0 ? null : chosen.join('|')
}

/** What stands between the masked parts. */
const fixedParts = (template: string): string[] =>
  template
    .split(/<(?:n|id|uuid|time|text|email|address|hex)>/)
    .map((part) => part.trim())
    .filter((part) => /[A-Za-z]{3}/.test(part))

/** Neighboring words; a word alone only if it is long, or put together as names of events are. */
function pairsIn(part: string): string[] {
  const words = part.split(/\s+/)
  const pairs = words.slice(1).flatMap((word, at) => {
    const pair = `${words[at]} ${word}`
    return /[A-Za-z]{3}/.test(pair) && pair.length >= 6 ? [trimmed(pair)] : []
  })
  const singles = words
    .map(trimmed)
    .filter((word) => word.length >= 10 || /[A-Za-z]{3}[_.-][A-Za-z]{3}/.test(word))
  return pairs.length > 0
    ? [...pairs, ...singles]
    : [...singles, ...words.map(trimmed).filter((word) => word.length >= 6)]
}

const trimmed = (text: string): string => text.replaceAll(/^[^\w/]+|[^\w/]+$/g, '')

/** Null: none agrees enough, or several agree as much. */
export function bestMatch(matches: readonly Match[], template: string): Match | null {
  const scored = matches
    .map((match) => ({ match, score: scoreOf(match.text, template) }))
    .filter(({ score }) => score >= AGREEMENT_MIN)
    .toSorted((a, b) => b.score - a.score)
  const [first, second] = scored
  if (!first) return null
  const isTied = second?.score === first.score && second.match.path !== first.match.path
  return isTied ? null : first.match
}

/** A statement that throws is nearer to the cause than one that logs, and a comment is neither. */
function scoreOf(line: string, template: string): number {
  if (/^\s*(?:\/\/|#|\*|\/\*|--)/.test(line)) return 0
  const agreement = longestShared(saidIn(line.slice(0, 500)), template)
  if (agreement < AGREEMENT_MIN) return 0
  if (/\b(?:throw|raise|panic|reject|errors\.New|Errorf|bail|anyhow|fail|abort)\b/i.test(line))
    return agreement + 6
  return /\b(?:log|logger|logging|console|print\w*|puts|echo|warn|error|info|debug|fmt|slog)\b/i.test(line)
    ? agreement + 3
    : agreement
}

/** What stands between quotes; a line without any may be part of a longer text, unless it declares something. */
function saidIn(line: string): string {
  const quoted = line.match(/(["'`])(?:(?!\1)[^\\]|\\.){0,300}\1/g)
  if (quoted) return quoted.join('\n')
  return /["'`]/.test(line) ||
    !/\b(?:class|defmodule|module|defp?|func?|fn|function|import|package|struct|interface|return)\b/.test(
      line,
    )
    ? line
    : ''
}

/** Length of the longest text that both have; quadratic, over a few hundred characters. */
function longestShared(a: string, b: string): number {
  let most = 0
  let above = new Uint16Array(b.length + 1)
  for (let at = 1; at <= a.length; at += 1) {
    const row = new Uint16Array(b.length + 1)
    for (let to = 1; to <= b.length; to += 1) {
      if (a[at - 1] !== b[to - 1]) continue
      row[to] = above[to - 1]! + 1
      if (row[to]! > most) most = row[to]!
    }
    above = row
  }
  return most
}
