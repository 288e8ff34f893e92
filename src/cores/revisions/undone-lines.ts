/**
 * Whether a text takes a change of it away again, by the lines that were changed: blanks aside, and wherever they stand now.
 * A change is taken away when a line that it removed is back, or when nothing of what it added is left. Pure, and linear.
 */
import { readDiffLines } from '../../contracts/read-diff.ts'
import { foldBlanks } from '../../contracts/plain-text.ts'

/** How often each line that says something stands in a text. */
export type LineCounts = ReadonlyMap<string, number>

/** Lines that were changed together. */
export type ChangedLines = { readonly added: readonly string[]; readonly removed: readonly string[] }

/** A text has as many of these as somebody likes: they say nothing of whose it is. */
const saysSomething = (line: string): boolean => /[\p{L}\p{N}]/u.test(line)

const folded = (lines: readonly string[]): string[] => lines.map(foldBlanks).filter(saysSomething)

export function countLines(text: string): LineCounts {
  const counts = new Map<string, number>()
  for (const line of folded(text.split('\n'))) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

/** Of one file of a diff. What is only moved or indented was not changed. */
export function changedLines(part: string): ChangedLines[] {
  const blocks: { added: string[]; removed: string[] }[] = []
  let block: { added: string[]; removed: string[] } | undefined
  for (const { kind, text } of readDiffLines(part)) {
    if (kind === 'added' || kind === 'removed') {
      if (block === undefined) blocks.push((block = { added: [], removed: [] }))
      block[kind].push(text)
    } else if (kind !== 'note') block = undefined
  }
  return blocks.map(({ added, removed }) => ({
    added: without(folded(added), folded(removed)),
    removed: without(folded(removed), folded(added)),
  }))
}

const without = (lines: readonly string[], others: readonly string[]): string[] => {
  const same = new Set(others)
  return lines.filter((line) => !same.has(line))
}

/** `head` has the change, or what is left of it. */
export function isTakenAway(
  { added, removed }: ChangedLines,
  { head, pushed }: { readonly head: LineCounts; readonly pushed: LineCounts },
): boolean {
  const kept = added.filter((line) => head.has(line))
  if (kept.length > 0 && kept.every((line) => isFewer(pushed, head, line))) return true
  return removed.some((line) => isFewer(head, pushed, line))
}

/** All of what was added stands there; of what was only removed nothing does. */
export const isThere = ({ added, removed }: ChangedLines, text: LineCounts): boolean =>
  added.length > 0 ? added.every((line) => text.has(line)) : !removed.some((line) => text.has(line))

/** Whether a text has anything of another one no longer that came from `base` to `head`, or has again what went. */
export function losesChanges(base: LineCounts, head: LineCounts, pushed: LineCounts): boolean {
  const lines = new Set([...base.keys(), ...head.keys()])
  return [...lines].some(
    (line) =>
      (isFewer(base, head, line) && isFewer(pushed, head, line)) ||
      (isFewer(head, base, line) && isFewer(head, pushed, line)),
  )
}

const isFewer = (one: LineCounts, other: LineCounts, line: string): boolean =>
  (one.get(line) ?? 0) < (other.get(line) ?? 0)
