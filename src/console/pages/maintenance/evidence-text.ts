/** The exact lines that a run read: text of others, shown as such. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { showRunEvidence } from '../../../contracts/maintenance.ts'
import { codeFrame, linesIn, visibleText } from '../apps/source-text.ts'

type Evidence = z.output<typeof showRunEvidence.output>

/** Of one reference on a page; the page of the reference has all of them. */
export const EXCERPT_LINES = 40

export function evidenceText({ ref, from_line, text }: Evidence, most = Infinity) {
  if (text === null) return html`<p class="note">Not cited, and no longer kept.</p>`
  const lines = linesIn(text)
  const shown = lines.slice(0, most)
  return html`${codeFrame(
    `Lines of ${ref}`,
    html`<table class="code-lines" role="presentation"><tbody>${shown.map((line, at) => html`<tr><td class="code-number">${from_line === null ? '' : from_line + at}</td><td class="code-text">${visibleText(line)}</td></tr>`)}</tbody></table>`,
  )}
  ${shown.length < lines.length && html`<p class="note">${lines.length - shown.length} more lines.</p>`}`
}
