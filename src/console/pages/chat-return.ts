/** To the chat service and back again: the page before one leaves, and what happens on return. */
import type { Context } from 'hono'
import { html } from 'hono/html'
import { ServiceError } from '../../contracts/errors.ts'
import { linkButton } from '../../pages/parts.ts'
import { attempt, statusOf } from '../attempt.ts'
import { page } from '../layout.ts'
import type { ConsoleEnv } from '../visit.ts'

type C = Context<ConsoleEnv>
type Leave = { url: string; title: string; about: string; back: string }

/**
 * A link and not a redirect: the policy of our pages lets forms lead nowhere else, redirects included, and so people
 * see where they are going.
 */
export function goOutside(c: C, { url, title, about, back }: Leave) {
  const there = URL.parse(url)
  if (!there || !['https:', 'http:'].includes(there.protocol)) throw new ServiceError('UNEXPECTED')
  return page(c, {
    title,
    body: html`<div class="card">
      <p>You go on at <strong>${there.host}</strong>. ${about}</p>
      <div class="actions">${linkButton(there.href, `Go to ${there.host}`)} ${linkButton(back, 'Cancel', 'quiet')}</div>
    </div>`,
  })
}

type Answer = { code: string; state: string }
type Return = { again: string; complete: (answer: Answer) => Promise<string> }

/** `complete` answers where to go; a refusal is shown in its own words with a way to begin again. */
export async function returnedFrom(c: C, { again, complete }: Return) {
  const { code, state, error } = c.req.query()
  if (error !== undefined || !code || !state) {
    return notDone(c, again, error === undefined ? INCOMPLETE : DECLINED)
  }
  const tried = await attempt(() => complete({ code, state }))
  return 'problem' in tried ? notDone(c, again, tried.problem) : c.redirect(tried.done, 303)
}

const DECLINED = new ServiceError('CONFLICT', 'It was not allowed at the chat service', {
  hint: 'Nothing was changed.',
})
const INCOMPLETE = new ServiceError('INVALID_REQUEST', 'The chat service sent you back without an answer')

const notDone = (c: C, again: string, problem: ServiceError) =>
  page(c, {
    title: 'That did not work',
    lead: `${problem.message}.`,
    status: statusOf(problem),
    body: html`<div class="card">
      ${problem.problems && html`<ul>${problem.problems.map((said) => html`<li>${said}</li>`)}</ul>`}
      <p>${problem.hint ?? 'Begin again; each attempt works once and for ten minutes.'}</p>
      <div class="actions">${linkButton(again, 'Begin again')}</div>
    </div>`,
  })
