/** Sign-in through a round trip to the login page, and sign-out. */
import { createHash, randomBytes } from 'node:crypto'
import * as z from 'zod'
import { ServiceError } from '../contracts/errors.ts'
import { SIGN_IN_ATTEMPT_SECONDS } from '../contracts/limits.ts'
import { exchangeSignInCode, signOut } from '../contracts/sessions.ts'
import { encodeCookieValue, decodeCookieValue } from './cookie-value.ts'
import {
  clearCookie,
  clearSessionToken,
  cookiesNamed,
  saveSessionToken,
  readCookie,
  readSessionToken,
  writeCookie,
} from './cookies.ts'
import { outsidePage } from './layout.ts'
import { linkButton } from '../pages/parts.ts'
import { safeNext } from './safe-next.ts'
import { forgetSupportSession } from './support-session.ts'
import { createRoutes, sessionOf, type PageContext } from './context.ts'
import { clientFor, requireSession } from './session.ts'

const AttemptShape = z.object({
  state: z.string(),
  verifier: z.string(),
  next: z.string(),
  until: z.number(),
})
type Attempt = z.output<typeof AttemptShape>

/** One cookie per attempt, so that tabs signing in at the same moment do not overwrite each other. */
const ATTEMPT = 'svc_console_sign_in_'
const attemptCookie = (state: string): string =>
  ATTEMPT + createHash('sha256').update(state).digest('hex').slice(0, 16)

/** Another site can make a browser open sign-in again and again; the cookies it leaves must not pile up. */
const ATTEMPTS_MAX = 8

export const signInRoutes = () =>
  createRoutes()
    .get('/sign-in', beginSignIn)
    .get('/sign-in/done', finishSignIn)
    .get('/signed-out', signedOut)
    .post('/sign-out', endSession)

function beginSignIn(c: PageContext): Response {
  const { deps } = c.var
  const attempt: Attempt = {
    state: randomBytes(32).toString('base64url'),
    verifier: randomBytes(32).toString('base64url'),
    next: safeNext(c.req.query('next'), deps.appUrl),
    until: deps.clock().getTime() + SIGN_IN_ATTEMPT_SECONDS * 1000,
  }
  const waiting = cookiesNamed(c, ATTEMPT)
  if (waiting.length >= ATTEMPTS_MAX) for (const name of waiting) clearCookie(c, name)
  writeCookie(c, attemptCookie(attempt.state), encodeCookieValue(attempt), SIGN_IN_ATTEMPT_SECONDS)
  const url = new URL(deps.signInUrl)
  url.searchParams.set('return_to', new URL('/console/sign-in/done', deps.appUrl).href)
  url.searchParams.set('state', attempt.state)
  url.searchParams.set('code_challenge', createHash('sha256').update(attempt.verifier).digest('base64url'))
  return c.redirect(url.href, 302)
}

async function finishSignIn(c: PageContext): Promise<Response> {
  const { code, state } = c.req.query()
  const attempt = state === undefined ? undefined : consumeAttempt(c, state)
  // Without this, a link with somebody else's code would sign the reader in as somebody else (login CSRF).
  if (!attempt) {
    return failedSignIn(c, 'This sign-in was not started in this browser, or took longer than ten minutes.')
  }
  if (!code) return failedSignIn(c, 'You returned without signing in.', attempt.next)
  try {
    const session = await clientFor(c)(exchangeSignInCode, { code, code_verifier: attempt.verifier })
    saveSessionToken(c, session)
    return c.redirect(attempt.next, 303)
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'UNEXPECTED') throw error
    return failedSignIn(c, 'The sign-in expired, or its link was already used.', attempt.next)
  }
}

function consumeAttempt(c: PageContext, state: string): Attempt | undefined {
  const name = attemptCookie(state)
  const attempt = decodeCookieValue(AttemptShape, readCookie(c, name))
  if (attempt === undefined) return undefined
  clearCookie(c, name)
  if (attempt.state !== state || attempt.until <= c.var.deps.clock().getTime()) return undefined
  return { ...attempt, next: safeNext(attempt.next, c.var.deps.appUrl) }
}

const failedSignIn = (c: PageContext, lead: string, next?: string) =>
  outsidePage(c, {
    status: 400,
    title: 'You are not signed in',
    lead,
    body: linkButton(
      next ? `/console/sign-in?${new URLSearchParams({ next })}` : '/console/sign-in',
      'Try again',
    ),
  })

async function endSession(c: PageContext): Promise<Response> {
  if (readSessionToken(c) !== undefined) {
    try {
      await requireSession(c, async () => {})
      await sessionOf(c).call(signOut, { session_id: 'current' })
    } catch (error) {
      // A session that is over already is what was asked for.
      if (!(error instanceof ServiceError) || error.code !== 'UNAUTHENTICATED') throw error
    }
    clearSessionToken(c)
    forgetSupportSession(c)
  }
  return c.redirect('/console/signed-out', 303)
}

const signedOut = (c: PageContext) =>
  outsidePage(c, {
    title: 'You are signed out',
    lead: 'Your session in this browser has ended.',
    body: linkButton('/console/sign-in', 'Sign in again'),
  })
