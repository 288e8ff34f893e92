/** A page for what went wrong, in words a person can act on. */
import { html } from 'hono/html'
import { asServiceError } from '../../src/http/answer.ts'
import type { HttpContext } from '../../src/http/context.ts'
import { linkButton, problemNotice } from '../../src/pages/parts.ts'
import { page } from './page.ts'

export function problemPage(c: HttpContext, error: unknown, title = 'That did not work') {
  const said = asServiceError(error)
  return page(c, {
    title,
    problem: said,
    body: html`${problemNotice(said)}
      <p>${linkButton('/console', 'Go to the console', 'quiet')}</p>
      <p class="note">Request ${c.get('requestId')}</p>`,
  })
}
