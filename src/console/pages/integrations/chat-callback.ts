/** Authorization at the chat service: the page before leaving, and the callback. */
import { html } from 'hono/html'
import { ServiceError } from '../../../contracts/errors.ts'
import { linkButton } from '../../../pages/parts.ts'
import { attempt, statusOf } from '../../forms.ts'
import { page } from '../../layout.ts'
import type { PageContext } from '../../context.ts'

type ExternalPage = { url: string; title: string; about: string; back: string }

/**
 * A link and not a redirect: the content security policy keeps forms on this origin, redirects included, and people
 * see where they are going.
 */
export function externalPage(c: PageContext, { url, title, about, back }: ExternalPage) {
  const there = URL.parse(url)
  if (!there || !['https:', 'http:'].includes(there.protocol)) throw new ServiceError('UNEXPECTED')
  return page(c, {
    title,
    body: html`<div class="card">
      <p>Continue at <strong>${there.host}</strong>. ${about}</p>
      <div class="actions">${linkButton(there.href, `Continue to ${there.host}`)} ${linkButton(back, 'Cancel', 'quiet')}</div>
    </div>`,
  })
}

type Answer = { code: string; state: string }
type Callback = { retryPath: string; complete: (answer: Answer) => Promise<string> }

/** `complete` returns the path to go to; a refusal is shown with its message and a way to try again. */
export async function handleChatCallback(c: PageContext, { retryPath, complete }: Callback) {
  const { code, state, error } = c.req.query()
  if (error !== undefined || !code || !state) {
    return failedPage(c, retryPath, error === undefined ? INCOMPLETE : DECLINED)
  }
  const result = await attempt(() => complete({ code, state }))
  return 'problem' in result ? failedPage(c, retryPath, result.problem) : c.redirect(result.done, 303)
}

const DECLINED = new ServiceError('CONFLICT', 'Access was declined at the chat service', {
  hint: 'Nothing was changed.',
})
const INCOMPLETE = new ServiceError('INVALID_REQUEST', 'The chat service returned an incomplete answer')

const failedPage = (c: PageContext, retryPath: string, problem: ServiceError) =>
  page(c, {
    title: 'The chat service could not be connected',
    lead: `${problem.message}.`,
    status: statusOf(problem),
    body: html`<div class="card">
      ${problem.problems && html`<ul>${problem.problems.map((line) => html`<li>${line}</li>`)}</ul>`}
      <p>${problem.hint ?? 'Try again. Each attempt can be used once, within ten minutes.'}</p>
      <div class="actions">${linkButton(retryPath, 'Try again')}</div>
    </div>`,
  })
