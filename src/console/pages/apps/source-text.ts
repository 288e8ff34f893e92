/** Text of a source file as a page shows it: escaped, in lines that can be linked to, and nothing in it is invisible. */
import { html } from 'hono/html'
import { codeOf, INVISIBLE } from '../../../contracts/invisible-characters.ts'
import type { Content } from '../../../pages/parts.ts'

/** With the characters between the parts; a tab is shown as one. */
const SEPARATING = new RegExp(`(${INVISIBLE.source})`, 'u')
/** Of one line: longer ones are not written by people, and not proposed by agents. */
const LINE_MAX = 2_000

export function visibleText(line: string, most = LINE_MAX): Content {
  const shown = line.length > most ? line.slice(0, most).toWellFormed() : line
  const parts = shown.split(SEPARATING).map((part, at) => (at % 2 === 0 ? part : invisible(part)))
  return html`${parts}${line.length > most && html` <span class="note">… ${line.length - most} more characters</span>`}`
}

/** The same as plain text, for titles. */
export const visibleWords = (words: string): string =>
  words
    .split(SEPARATING)
    .map((part, at) => (at % 2 === 0 ? part : codeOf(part)))
    .join('')

const invisible = (character: string) => {
  const code = codeOf(character)
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
