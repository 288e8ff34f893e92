/** Reads a diff in git's format into the lines of each file, with their numbers on both sides. */

export type DiffLine = {
  readonly kind: 'same' | 'added' | 'removed' | 'place' | 'note'
  readonly old: number | null
  readonly now: number | null
  readonly text: string
}

/**
 * In the order of the files. A line that begins so is a header: those of a file have a sign before them. Lines end with a
 * line feed here and nowhere else: for `^` they would also end with a carriage return or U+2028, which files may contain.
 */
export const splitDiff = (diff: string): string[] =>
  diff.split(/(?<=\n)(?=diff --git )/).filter((part) => part !== '')

export function readDiffLines(part: string): DiffLine[] {
  const lines: DiffLine[] = []
  let [old, now] = [0, 0]
  let isInHunk = false
  for (const text of part.split('\n')) {
    const place = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(text)
    if (place) {
      ;[old, now] = [Number(place[1]), Number(place[2])]
      isInHunk = true
      lines.push({ kind: 'place', old: null, now: null, text: place[0] })
    } else if (!isInHunk) {
      if (/^(?:old mode|new mode|new file mode|deleted file mode|Binary files )/.test(text))
        lines.push({ kind: 'note', old: null, now: null, text })
    } else if (text.startsWith('+')) lines.push({ kind: 'added', old: null, now: now++, text: text.slice(1) })
    else if (text.startsWith('-')) lines.push({ kind: 'removed', old: old++, now: null, text: text.slice(1) })
    else if (text.startsWith(' ')) lines.push({ kind: 'same', old: old++, now: now++, text: text.slice(1) })
    else if (text.startsWith('\\')) lines.push({ kind: 'note', old: null, now: null, text: text.slice(2) })
  }
  return lines
}
