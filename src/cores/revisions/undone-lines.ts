/**
 * Whether a text takes a change of it away again. By the lines that were changed, blanks aside and wherever they stand now: a
 * line that it removed is back, or nothing of what it added is left. And by the place: where only order or indentation was
 * changed, the lines stand there again as they did. Pure, and linear.
 */
import { foldBlanks } from '../../contracts/plain-text.ts'
import { readDiffLines, type DiffLine } from '../../contracts/read-diff.ts'

export type TextLines = {
  /** How often each line that says something stands in it. */
  readonly counts: ReadonlyMap<string, number>
  /** In their order, each between line feeds. */
  readonly text: string
}

/** Lines that were changed together, and how they stood among those around them. */
export type ChangedLines = {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly before: string
  readonly after: string
}

/** A text has as many of these as somebody likes: they say nothing of whose it is. */
const saysSomething = (line: string): boolean => /[\p{L}\p{N}]/u.test(line)

const folded = (lines: readonly string[]): string[] => lines.map(foldBlanks).filter(saysSomething)

const inOrder = (lines: readonly string[]): string => `\n${lines.map((line) => line.trimEnd()).join('\n')}\n`

/** More than source has. Beyond it, nobody looks into a text. */
const LINES_MAX = 50_000

export function readLines(text: string): TextLines | undefined {
  const lines = text.split('\n', LINES_MAX + 1)
  if (lines.length > LINES_MAX) return undefined
  const counts = new Map<string, number>()
  for (const line of folded(lines)) counts.set(line, (counts.get(line) ?? 0) + 1)
  return { counts, text: inOrder(lines) }
}

export const NO_LINES: TextLines = { counts: new Map(), text: '\n' }

/** Of one file of a diff. */
export function changedLines(part: string): ChangedLines[] {
  const hunks: DiffLine[][] = []
  for (const line of readDiffLines(part)) {
    if (line.kind === 'place') hunks.push([])
    else if (line.kind !== 'note') hunks.at(-1)?.push(line)
  }
  return hunks.flatMap((hunk) => {
    const side = (left: DiffLine['kind']) =>
      inOrder(hunk.flatMap(({ kind, text }) => (kind === left ? [] : [text])))
    const place = { before: side('added'), after: side('removed') }
    return blocksIn(hunk).map((block) => {
      const of = (kind: DiffLine['kind']) =>
        folded(block.flatMap((line) => (line.kind === kind ? [line.text] : [])))
      const [added, removed] = [of('added'), of('removed')]
      return { ...place, added: without(added, removed), removed: without(removed, added) }
    })
  })
}

/** Lines that are changed one after the other. */
function blocksIn(hunk: readonly DiffLine[]): DiffLine[][] {
  const blocks: DiffLine[][] = []
  for (const [n, line] of hunk.entries()) {
    if (line.kind === 'same') continue
    if (n === 0 || hunk[n - 1]!.kind === 'same') blocks.push([])
    blocks.at(-1)!.push(line)
  }
  return blocks
}

/** What was only moved or indented within the place is told by its order. */
const without = (lines: readonly string[], others: readonly string[]): string[] => {
  const same = new Set(others)
  return lines.filter((line) => !same.has(line))
}

/** `head` has the change, or what is left of it. */
export function isTakenAway(
  { added, removed, before, after }: ChangedLines,
  { head, pushed }: { readonly head: TextLines; readonly pushed: TextLines },
): boolean {
  if (head.text.includes(after) && pushed.text.includes(before) && !pushed.text.includes(after)) return true
  const kept = added.filter((line) => head.counts.has(line))
  // Those that stand there once say whose they are; others may have come from elsewhere.
  const telling = kept.filter((line) => head.counts.get(line) === 1)
  const looked = telling.length > 0 ? telling : kept
  if (looked.length > 0 && looked.every((line) => isFewer(pushed, head, line))) return true
  return removed.some((line) => isFewer(head, pushed, line))
}

/** It stands there as it did; or all of what was added does, and of what was only removed nothing. */
export const isThere = ({ added, removed, after }: ChangedLines, { counts, text }: TextLines): boolean =>
  text.includes(after) ||
  (added.length > 0
    ? added.every((line) => counts.has(line))
    : removed.length > 0 && !removed.some((line) => counts.has(line)))

/**
 * Whether a text, which is not that of the head, has anything no longer that came from `base` to `head`, or has again what went.
 * Where no line differs it is their order, and that is the head's alone.
 */
export function losesChanges(base: TextLines, head: TextLines, pushed: TextLines): boolean {
  const lines = [...new Set([...base.counts.keys(), ...head.counts.keys()])]
  const came = lines.filter((line) => isFewer(base, head, line))
  const went = lines.filter((line) => isFewer(head, base, line))
  if (came.length + went.length === 0) return true
  return came.some((line) => isFewer(pushed, head, line)) || went.some((line) => isFewer(head, pushed, line))
}

/** How much of what the first says the other says, too. */
export function sharedLines({ counts }: TextLines, other: TextLines): number {
  const lines = [...counts.keys()]
  return lines.length === 0 ? 0 : lines.filter((line) => other.counts.has(line)).length / lines.length
}

const isFewer = (one: TextLines, other: TextLines, line: string): boolean =>
  (one.counts.get(line) ?? 0) < (other.counts.get(line) ?? 0)
