/** When a page cannot be shown: sign-in again, or a page that says what happened and what to do. */
import type { Context } from 'hono'
import { html } from 'hono/html'
import { ERRORS, ServiceError, type ErrorCode } from '../contracts/errors.ts'
import { clearSession, readSession } from './cookies.ts'
import { outsidePage, page } from './layout.ts'
import { linkButton } from '../pages/parts.ts'
import { safeNext } from './safe-next.ts'
import { ageSeconds, GoTo, type ConsoleEnv } from './visit.ts'

type C = Context<ConsoleEnv>

export function refuse(error: unknown, c: C): Response | Promise<Response> {
  if (error instanceof GoTo) return c.redirect(error.path, 303)
  if (error instanceof ServiceError && error.code === 'UNAUTHENTICATED') return signInAgain(c)
  c.set('failure', error)
  return errorPage(c, error instanceof ServiceError ? error : new ServiceError('UNEXPECTED'))
}

/** The table of errors speaks of calls and ids; on a page it is about addresses and buttons. */
const NEXT_STEPS: Partial<Record<ErrorCode, string>> = {
  NOT_FOUND: 'Check the address, or start again from the overview.',
  FORBIDDEN: 'Ask an owner of the organization for a higher role.',
  UNEXPECTED: 'Try again. If it stays broken, pass on the request id below.',
}

const TITLES: Partial<Record<ErrorCode, string>> = {
  FORBIDDEN: 'You may not do this',
  NOT_FOUND: 'There is nothing here',
  INVALID_REQUEST: 'That did not work',
  CONFLICT: 'Something has changed meanwhile',
  RATE_LIMITED: 'Too fast',
  TIMEOUT: 'That took too long',
}

function errorPage(c: C, error: ServiceError): Response | Promise<Response> {
  const show = c.get('visit') ? page : outsidePage
  return show(c, {
    status: ERRORS[error.code].status,
    title: TITLES[error.code] ?? 'Something went wrong on our side',
    lead:
      error.code === 'NOT_FOUND'
        ? 'The page does not exist, or it is not for you to see.'
        : `${error.message}.`,
    body: html`<div class="card">
      ${error.problems && html`<ul>${error.problems.map((said) => html`<li>${said}</li>`)}</ul>`}
      <p>${error.hint ?? NEXT_STEPS[error.code] ?? ERRORS[error.code].user}</p>
      <div class="actions">${linkButton('/console', 'Go to the overview')}</div>
      <p class="note">Request id <code>${c.var.requestId}</code></p>
    </div>`,
  })
}

/** A token that young and already refused: sending its owner round again would go on forever. */
const CIRCLE_SECONDS = 10

function signInAgain(c: C): Response | Promise<Response> {
  const token = readSession(c)
  if (token !== undefined) clearSession(c)
  const age = token === undefined ? undefined : ageSeconds(token, c.var.needs.clock())
  if (age !== undefined && Math.abs(age) < CIRCLE_SECONDS) {
    return errorPage(
      c,
      new ServiceError('UNAUTHENTICATED', 'You signed in, but your session was ended at once', {
        hint: 'Try again. If it happens again, tell whoever runs this service.',
      }),
    )
  }
  const query = new URLSearchParams({ next: whereTheyWere(c) })
  return c.redirect(`/console/sign-in?${query}`, 303)
}

function whereTheyWere(c: C): string {
  const url = c.req.method === 'GET' ? c.req.url : c.req.header('referer')
  const parsed = url === undefined ? null : URL.parse(url)
  return safeNext(parsed ? parsed.pathname + parsed.search : undefined, c.var.needs.appUrl)
}
