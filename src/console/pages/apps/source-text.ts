/** Text of a source file as a page shows it: escaped, in lines that can be linked to, and nothing in it is invisible. */
import { html } from 'hono/html'
import type { Content } from '../../../pages/parts.ts'

/** Characters that a browser would not show, or that would make others stand elsewhere. A tab is shown as one. */
const INVISIBLE = /([\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\u00a0\u3164\uffa0])/u
/** Of one line: longer ones are not written by people. */
const LINE_MAX = 2_000

export function visibleText(line: string): Content {
  const shown = line.length > LINE_MAX ? line.slice(0, LINE_MAX).toWellFormed() : line
  const parts = shown
    .split(INVISIBLE)
    .map((part, at) => (at % 2 === 0 || part === '\t' ? part : invisible(part)))
  return html`${parts}${line.length > LINE_MAX && html` <span class="note">… ${line.length - LINE_MAX} more characters</span>`}`
}

const invisible = (character: string) => {
  const code = `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
  return html`<span class="invisible" title="Invisible character ${code}">${code}</span>`
}

/** A line break at the end ends the last line; the return of a Windows line break is not worth showing. */
export const linesIn = (text: string): string[] => {
  const lines = text.split(/\r?\n/)
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

/** What scrolls can be reached with the keyboard. */
export const codeFrame = (label: string, body: Content) =>
  html`<div class="code-frame" tabindex="0" role="region" aria-label="${label}">${body}</div>`
