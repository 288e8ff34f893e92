/** Sign-in through a round trip to the login page, and sign-out. */
import { createHash, randomBytes } from 'node:crypto'
import { Hono, type Context } from 'hono'
import * as z from 'zod'
import { ServiceError } from '../contracts/errors.ts'
import { SIGN_IN_ATTEMPT_SECONDS } from '../contracts/limits.ts'
import { exchangeSignInCode, signOut } from '../contracts/sessions.ts'
import { pack, unpack } from './carried.ts'
import {
  clearCookie,
  clearSession,
  cookiesNamed,
  keepSession,
  readCookie,
  readSession,
  writeCookie,
} from './cookies.ts'
import { outsidePage } from './layout.ts'
import { linkButton } from '../pages/parts.ts'
import { safeNext } from './safe-next.ts'
import { forgetVisit } from './support-visit.ts'
import { callFor, enter, visitOf, type ConsoleEnv } from './visit.ts'

type C = Context<ConsoleEnv>
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

export function signInPages(): Hono<ConsoleEnv> {
  return new Hono<ConsoleEnv>()
    .get('/sign-in', beginSignIn)
    .get('/sign-in/done', finishSignIn)
    .get('/signed-out', signedOut)
    .post('/sign-out', endSession)
}

function beginSignIn(c: C): Response {
  const { needs } = c.var
  const attempt: Attempt = {
    state: randomBytes(32).toString('base64url'),
    verifier: randomBytes(32).toString('base64url'),
    next: safeNext(c.req.query('next'), needs.appUrl),
    until: needs.clock().getTime() + SIGN_IN_ATTEMPT_SECONDS * 1000,
  }
  const waiting = cookiesNamed(c, ATTEMPT)
  if (waiting.length >= ATTEMPTS_MAX) for (const name of waiting) clearCookie(c, name)
  writeCookie(c, attemptCookie(attempt.state), pack(attempt), SIGN_IN_ATTEMPT_SECONDS)
  const url = new URL(needs.signInUrl)
  url.searchParams.set('return_to', new URL('/console/sign-in/done', needs.appUrl).href)
  url.searchParams.set('state', attempt.state)
  url.searchParams.set('code_challenge', createHash('sha256').update(attempt.verifier).digest('base64url'))
  return c.redirect(url.href, 302)
}

async function finishSignIn(c: C): Promise<Response> {
  const { code, state } = c.req.query()
  const attempt = state === undefined ? undefined : takeAttempt(c, state)
  // Without this, a link with somebody else's code would sign the reader in as somebody else (login CSRF).
  if (!attempt) {
    return failedSignIn(c, 'This sign-in was not begun in this browser, or it took longer than ten minutes.')
  }
  if (!code) return failedSignIn(c, 'You came back without having signed in.', attempt.next)
  try {
    const session = await callFor(c)(exchangeSignInCode, { code, code_verifier: attempt.verifier })
    keepSession(c, session)
    return c.redirect(attempt.next, 303)
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'UNEXPECTED') throw error
    return failedSignIn(c, 'The sign-in took too long, or its link was used twice.', attempt.next)
  }
}

function takeAttempt(c: C, state: string): Attempt | undefined {
  const name = attemptCookie(state)
  const attempt = unpack(AttemptShape, readCookie(c, name))
  if (attempt === undefined) return undefined
  clearCookie(c, name)
  if (attempt.state !== state || attempt.until <= c.var.needs.clock().getTime()) return undefined
  return { ...attempt, next: safeNext(attempt.next, c.var.needs.appUrl) }
}

const failedSignIn = (c: C, lead: string, next?: string) =>
  outsidePage(c, {
    status: 400,
    title: 'You are not signed in',
    lead,
    body: linkButton(
      next ? `/console/sign-in?${new URLSearchParams({ next })}` : '/console/sign-in',
      'Try again',
    ),
  })

async function endSession(c: C): Promise<Response> {
  if (readSession(c) !== undefined) {
    try {
      await enter(c, async () => {})
      await visitOf(c).call(signOut, { session_id: 'current' })
    } catch (error) {
      // A session that is over already is what was asked for.
      if (!(error instanceof ServiceError) || error.code !== 'UNAUTHENTICATED') throw error
    }
    clearSession(c)
    forgetVisit(c)
  }
  return c.redirect('/console/signed-out', 303)
}

const signedOut = (c: C) =>
  outsidePage(c, {
    title: 'You are signed out',
    lead: 'This browser keeps nothing of your session.',
    body: linkButton('/console/sign-in', 'Sign in again'),
  })
