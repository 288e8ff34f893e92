/** The hunks of one file's diff, with the lines that each is about on both sides. */
import type { DiffLine } from './read-diff.ts'

export type Span = { readonly from: number; readonly to: number }
export type Hunk = {
  readonly lines: readonly DiffLine[]
  /** Undefined: nothing was there before. */
  readonly old: Span | undefined
  readonly now: Span | undefined
}

/** What stands before the first one, such as a changed mode, belongs to it. */
export function hunksOf(lines: readonly DiffLine[]): Hunk[] {
  const parts: DiffLine[][] = []
  for (const line of lines) {
    const last = parts.at(-1)
    const begins = line.kind === 'place' && last?.some(({ kind }) => kind !== 'note')
    if (last === undefined || begins) parts.push([line])
    else last.push(line)
  }
  return parts.map((part) => ({
    lines: part,
    old: spanOf(part.map(({ old }) => old)),
    now: spanOf(part.map(({ now }) => now)),
  }))
}

function spanOf(numbers: readonly (number | null)[]): Span | undefined {
  const known = numbers.filter((one) => one !== null)
  const [from, to] = [known.at(0), known.at(-1)]
  return from === undefined || to === undefined ? undefined : { from, to }
}
