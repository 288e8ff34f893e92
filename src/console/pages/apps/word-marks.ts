/** Which words of a changed line have changed. */
import { diffArrays } from 'diff'
import type { DiffLine } from './read-diff.ts'

export type MarkedPart = { readonly text: string; readonly isMarked: boolean }
export type WordMarks = ReadonlyMap<DiffLine, readonly MarkedPart[]>

/** Lines with less in common are other lines; marks all over them say nothing. */
const SIMILAR = 0.5
/** What is longer was not written by people, and would take long to compare. */
const LINE_MAX = 1_000
const EDITS_MAX = 60

/** Inside of a block, the first line removed became the first one added, the second one the second. */
export function wordMarks(lines: readonly DiffLine[]): WordMarks {
  const marks = new Map<DiffLine, readonly MarkedPart[]>()
  for (const { removed, added } of blocksOf(lines)) {
    removed.forEach((before, at) => {
      const after = added[at]
      const compared = after && compare(before.text, after.text)
      if (!compared) return
      marks.set(before, compared.before)
      marks.set(after, compared.after)
    })
  }
  return marks
}

type Block = { readonly removed: DiffLine[]; readonly added: DiffLine[] }

function blocksOf(lines: readonly DiffLine[]): Block[] {
  const blocks: Block[] = []
  let block: Block | undefined
  for (const line of lines) {
    // "No newline at end of file" stands between the two sides of a block.
    if (line.kind === 'note') continue
    if (line.kind === 'removed') {
      if (block === undefined || block.added.length > 0) blocks.push((block = { removed: [], added: [] }))
      block.removed.push(line)
    } else if (line.kind === 'added') block?.added.push(line)
    else block = undefined
  }
  return blocks
}

const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}_$]+|\s+|[^]/gu) ?? []

function compare(before: string, after: string) {
  if (before.length > LINE_MAX || after.length > LINE_MAX) return undefined
  const changes = diffArrays(wordsOf(before), wordsOf(after), { maxEditLength: EDITS_MAX })
  if (changes === undefined) return undefined
  const parts = changes.map(({ value, added, removed }) => ({ text: value.join(''), added, removed }))
  const common = parts
    .filter(({ added, removed }) => !added && !removed)
    .reduce((sum, { text }) => sum + text.trim().length, 0)
  if (common <= SIMILAR * Math.max(before.trim().length, after.trim().length)) return undefined
  const side = (other: 'added' | 'removed', own: 'added' | 'removed'): MarkedPart[] =>
    parts.filter((part) => !part[other]).map((part) => ({ text: part.text, isMarked: part[own] }))
  return { before: side('added', 'removed'), after: side('removed', 'added') }
}
