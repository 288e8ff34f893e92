/** Compares two texts, in the format that `git apply` reads. Runs in a thread. */
import { formatPatch, structuredPatch, type StructuredPatchHunk } from 'diff'
import type { ComparedTexts, TextsToCompare } from '../../cores/revisions/source-thread.ts'

const CONTEXT_LINES = 3
/**
 * Lines that differ. The work grows with the square of it; beyond, the part that differs is shown as replaced, which is
 * what somebody would see anyway.
 */
const EDITS_MAX = 2_000
/** Well above what that many edits take. */
const TIMEOUT_MS = 3_000

export function compareTexts({ path, old, now }: TextsToCompare): ComparedTexts {
  const started = performance.now()
  const [from, to] = [old?.text ?? '', now?.text ?? '']
  const hunks =
    structuredPatch(path, path, from, to, undefined, undefined, {
      context: CONTEXT_LINES,
      maxEditLength: EDITS_MAX,
      timeout: TIMEOUT_MS,
    })?.hunks ?? replacedPart(from, to)
  const lines = hunks.flatMap((hunk) => hunk.lines)
  return {
    patch: formatPatch({
      hunks,
      oldHeader: undefined,
      newHeader: undefined,
      ...gitHeader(path, old?.isExecutable, now?.isExecutable),
    }),
    addedLines: lines.filter((line) => line.startsWith('+')).length,
    removedLines: lines.filter((line) => line.startsWith('-')).length,
    ms: performance.now() - started,
  }
}

/** Everything between the lines that both begin with and those that both end with. */
function replacedPart(from: string, to: string): StructuredPatchHunk[] {
  const [old, now] = [linesOf(from), linesOf(to)]
  const shorter = Math.min(old.length, now.length)
  let before = 0
  while (before < shorter && old[before] === now[before]) before += 1
  let after = 0
  while (after < shorter - before && old.at(-1 - after) === now.at(-1 - after)) after += 1
  const lead = Math.min(before, CONTEXT_LINES)
  const trail = Math.min(after, CONTEXT_LINES)
  const removed = old.slice(before, old.length - after)
  const added = now.slice(before, now.length - after)
  const startOf = (count: number) => (count === 0 ? before - lead : before - lead + 1)
  return [
    {
      oldStart: startOf(lead + removed.length + trail),
      oldLines: lead + removed.length + trail,
      newStart: startOf(lead + added.length + trail),
      newLines: lead + added.length + trail,
      lines: [
        ...marked(' ', old.slice(before - lead, before)),
        ...marked('-', removed),
        ...marked('+', added),
        ...marked(' ', old.slice(old.length - after, old.length - after + trail)),
      ],
    },
  ]
}

/** Each with its line break, so that one without differs. */
const linesOf = (text: string): string[] => (text === '' ? [] : text.split(/(?<=\n)/))

const marked = (mark: string, lines: readonly string[]): string[] =>
  lines.flatMap((line) =>
    line.endsWith('\n') ? [mark + line.slice(0, -1)] : [mark + line, '\\ No newline at end of file'],
  )

const modeOf = (isExecutable: boolean): string => (isExecutable ? '100755' : '100644')

/** Undefined: there is no such file on that side. */
function gitHeader(path: string, old: boolean | undefined, now: boolean | undefined) {
  return {
    isGit: true,
    oldFileName: old === undefined ? '/dev/null' : `a/${path}`,
    newFileName: now === undefined ? '/dev/null' : `b/${path}`,
    ...(old === undefined && now !== undefined ? { isCreate: true, newMode: modeOf(now) } : {}),
    ...(now === undefined && old !== undefined ? { isDelete: true, oldMode: modeOf(old) } : {}),
    ...(old !== undefined && now !== undefined && old !== now
      ? { oldMode: modeOf(old), newMode: modeOf(now) }
      : {}),
  }
}
