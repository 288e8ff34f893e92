/** When a page cannot be shown: redirects to sign-in, or shows what happened and what to do. */
import { html } from 'hono/html'
import { ERRORS, ServiceError, type ErrorCode } from '../contracts/errors.ts'
import { clearSessionToken, readSessionToken } from './cookies.ts'
import { outsidePage, page } from './layout.ts'
import { linkButton } from '../pages/parts.ts'
import { safeNext } from './safe-next.ts'
import { Redirect, type PageContext } from './context.ts'
import { ageSeconds } from './session.ts'

export function handleError(error: unknown, c: PageContext): Response | Promise<Response> {
  if (error instanceof Redirect) return c.redirect(error.path, 303)
  if (error instanceof ServiceError && error.code === 'UNAUTHENTICATED') return redirectToSignIn(c)
  c.set('failure', error)
  return errorPage(c, error instanceof ServiceError ? error : new ServiceError('UNEXPECTED'))
}

/** The table of errors is written for API callers; these hints are for people on a page. */
const NEXT_STEPS: Partial<Record<ErrorCode, string>> = {
  NOT_FOUND: 'Check the address, or go back to the overview.',
  FORBIDDEN: 'Ask an owner of the organization for a higher role.',
  UNEXPECTED: 'Try again. If the problem persists, report the request ID below.',
}

const TITLES: Partial<Record<ErrorCode, string>> = {
  FORBIDDEN: 'Access denied',
  NOT_FOUND: 'Page not found',
  INVALID_REQUEST: 'Invalid request',
  CONFLICT: 'Something changed in the meantime',
  RATE_LIMITED: 'Too many requests',
  TIMEOUT: 'Request timed out',
}

function errorPage(c: PageContext, error: ServiceError): Response | Promise<Response> {
  const show = c.get('session') ? page : outsidePage
  return show(c, {
    status: ERRORS[error.code].status,
    title: TITLES[error.code] ?? 'Something went wrong',
    lead:
      error.code === 'NOT_FOUND'
        ? 'This page does not exist, or you do not have access to it.'
        : `${error.message}.`,
    body: html`<div class="card">
      ${error.problems && html`<ul>${error.problems.map((problem) => html`<li>${problem}</li>`)}</ul>`}
      <p>${error.hint ?? NEXT_STEPS[error.code] ?? ERRORS[error.code].user}</p>
      <div class="actions">${
        // Without a session there is no overview: whoever is refused as a whole can only be somebody else.
        error.code === 'FORBIDDEN' && !c.get('session')
          ? linkButton('/console/sign-in', 'Sign in again')
          : linkButton('/console', 'Go to overview')
      }</div>
      <p class="note">Request ID <code>${c.var.requestId}</code></p>
    </div>`,
  })
}

/** A token this young and already refused: another redirect to sign-in would loop forever. */
const LOOP_GUARD_SECONDS = 10

function redirectToSignIn(c: PageContext): Response | Promise<Response> {
  const token = readSessionToken(c)
  if (token !== undefined) clearSessionToken(c)
  const age = token === undefined ? undefined : ageSeconds(token, c.var.deps.clock())
  if (age !== undefined && Math.abs(age) < LOOP_GUARD_SECONDS) {
    return errorPage(
      c,
      new ServiceError('UNAUTHENTICATED', 'You signed in, but your session ended immediately', {
        hint: 'Try again. If it happens again, contact the operator of this service.',
      }),
    )
  }
  const query = new URLSearchParams({ next: currentPath(c) })
  return c.redirect(`/console/sign-in?${query}`, 303)
}

function currentPath(c: PageContext): string {
  const url = c.req.method === 'GET' ? c.req.url : c.req.header('referer')
  const parsed = url === undefined ? null : URL.parse(url)
  return safeNext(parsed ? parsed.pathname + parsed.search : undefined, c.var.deps.appUrl)
}
