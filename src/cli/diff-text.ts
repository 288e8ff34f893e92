/** A diff for a terminal: what is invisible or would be executed is shown by its code; the exact text is that of a patch. */
import { visibleLine } from './terminal-text.ts'

const [BOLD, RED, GREEN, CYAN] = [1, 31, 32, 36]

export function shownDiff(diff: string, color: boolean): string {
  let isInHunk = false
  const painted = diff.split('\n').map((text) => {
    const line = visibleLine(text)
    // In a hunk every line has a sign before it, so that none of a file can pass for a header.
    if (text.startsWith('diff --git ')) isInHunk = false
    if (text.startsWith('@@')) isInHunk = true
    const code = isInHunk ? SIGNS[text[0] ?? ''] : text === '' ? undefined : BOLD
    return color && code !== undefined ? `\u001b[${code}m${line}\u001b[0m` : line
  })
  return painted.join('\n')
}

const SIGNS: Readonly<Record<string, number>> = { '+': GREEN, '-': RED, '@': CYAN }
