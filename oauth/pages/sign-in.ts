/** Sign-in: by password, or through an identity provider. */
import { html } from 'hono/html'
import * as z from 'zod'
import { ServiceError } from '../../src/contracts/errors.ts'
import { Email } from '../../src/contracts/fields.ts'
import {
  startPasswordSession,
  issueSignInCode,
  saveSignInAttempt,
  signInWithProvider,
  consumeSignInAttempt,
  type SignInProvider,
} from '../../src/cores/identity/index.ts'
import type { HttpContext } from '../../src/http/context.ts'
import { button, inputField, problemNotice } from '../../src/pages/parts.ts'
import {
  browserIdOf,
  browserSession,
  deviceOf,
  enterSession,
  hiddenFields,
  knownDevice,
  readForm,
  setDeviceCookie,
} from '../browser-session.ts'
import type { AuthDeps } from '../dependencies.ts'
import { readReturnTo, withCode, writeReturnTo, type ReturnTarget } from '../return-to.ts'
import { page } from './page.ts'

/** Undefined without an application: the sign-in then ends at the console, which requests its own. */
function requestedReturn(deps: AuthDeps, params: Record<string, string>): ReturnTarget | undefined {
  if (params.return_to === undefined) return undefined
  const target = readReturnTo(params, deps.returnBases)
  if (target) return target
  throw new ServiceError('INVALID_REQUEST', 'The application that sent you here is unknown', {
    hint: 'Its address is not in ALLOWED_REDIRECT_BASE_URLS. Start again from the console.',
  })
}

export async function showSignIn(deps: AuthDeps, c: HttpContext) {
  const params = c.req.query()
  const back = requestedReturn(deps, params)
  const browser = await browserSession(deps, c)
  if (browser && !asksAgain(params)) return goBack(deps, c, back, browser.sessionId)
  return signInPage(deps, c, back, params)
}

/** For whoever wants to be somebody else than this browser remembers; the value is OpenID Connect's. */
const asksAgain = (params: Record<string, string>): boolean => params.prompt === 'login'

function signInPage(
  deps: AuthDeps,
  c: HttpContext,
  back: ReturnTarget | undefined,
  params: Record<string, string>,
  refused?: { error: unknown; email: string },
) {
  const error = refused?.error instanceof ServiceError ? refused.error : undefined
  const hidden = hiddenFields(deps, c, {
    ...(back && writeReturnTo(back)),
    ...(asksAgain(params) && { prompt: 'login' }),
  })
  return page(c, {
    title: 'Sign in',
    problem: error,
    body: html`${problemNotice(error)}
      <div class="card sign-in">
        ${deps.providers.map(
          (provider) =>
            html`<form method="post" action="/auth/${provider.name}">
              ${hidden}
              <button type="submit" class="button button-quiet button-wide">Continue with ${provider.title}</button>
            </form>`,
        )}
        ${deps.providers.length > 0 && deps.passwordSignIn && html`<p class="or"><span>or</span></p>`}
        ${deps.passwordSignIn && passwordForm(deps, hidden, refused?.email ?? '')}
      </div>`,
  })
}

const passwordForm = (deps: AuthDeps, hidden: unknown, email: string) =>
  html`<form method="post" action="/auth/sign-in">
    ${hidden}
    ${inputField({ name: 'email', label: 'Email', type: 'email', autocomplete: 'username', required: true, value: email })}
    ${inputField({
      name: 'password',
      label: 'Password',
      type: 'password',
      autocomplete: 'current-password',
      required: true,
    })}
    ${button('Sign in')} ${deps.mail && html`<a class="aside" href="/auth/forgot">Forgot your password?</a>`}
  </form>`

const Credentials = z.object({ email: Email, password: z.string().min(1).max(512) })

export async function submitPassword(deps: AuthDeps, c: HttpContext) {
  const fields = await readForm(deps, c)
  const back = requestedReturn(deps, fields)
  const given = Credentials.safeParse(fields)
  try {
    // Malformed credentials get the same answer as wrong ones.
    if (!given.success) throw new ServiceError('UNAUTHENTICATED', 'Email or password is wrong')
    const { email, password } = given.data
    const from = { address: c.get('address'), requestId: c.get('requestId') }
    const known = knownDevice(deps, c, email)
    const signedIn = await startPasswordSession(deps, from, email, password, deviceOf(c), known)
    await enterSession(deps, c, signedIn)
    setDeviceCookie(deps, c, email)
    return await goBack(deps, c, back, signedIn.sessionId)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return signInPage(deps, c, back, fields, { error, email: fields.email?.slice(0, 254) ?? '' })
  }
}

/** Redirects to the provider. The stored attempt is bound to this browser and works for one callback. */
export async function startProviderSignIn(deps: AuthDeps, c: HttpContext, provider: SignInProvider) {
  const fields = await readForm(deps, c)
  const back = requestedReturn(deps, fields)
  const chooseAccount = asksAgain(fields)
  const { url, ...secrets } = await provider.begin(callbackOf(deps, provider), { chooseAccount })
  const returnTo = JSON.stringify(back ? writeReturnTo(back) : {})
  await saveSignInAttempt(deps, {
    ...secrets,
    provider: provider.name,
    returnTo,
    browser: browserIdOf(deps, c),
  })
  return c.redirect(url.href, 303)
}

export async function finishProviderSignIn(deps: AuthDeps, c: HttpContext, provider: SignInProvider) {
  const state = c.req.query('state') ?? ''
  const attempt = await consumeSignInAttempt(deps, {
    provider: provider.name,
    state,
    browser: browserIdOf(deps, c),
  })
  if (!attempt) {
    throw new ServiceError(
      'INVALID_REQUEST',
      'This sign-in was started in another browser, or it took too long',
      { hint: 'Start again from the sign-in page.' },
    )
  }
  const redirectUri = callbackOf(deps, provider)
  // From configuration, not from the request: a proxy may have changed host and scheme.
  const callback = new URL(redirectUri)
  callback.search = new URL(c.req.url).search
  const { nonce, codeVerifier } = attempt
  const person = await provider.finish(callback, { state, nonce, codeVerifier, redirectUri })
  const signedIn = await signInWithProvider(deps, person, {
    device: deviceOf(c),
    requestId: c.get('requestId'),
  })
  await enterSession(deps, c, signedIn)
  const back = requestedReturn(deps, JSON.parse(attempt.returnTo) as Record<string, string>)
  return goBack(deps, c, back, signedIn.sessionId)
}

const callbackOf = (deps: AuthDeps, provider: SignInProvider) =>
  new URL(`/auth/${provider.name}/callback`, deps.pagesUrl)

async function goBack(deps: AuthDeps, c: HttpContext, back: ReturnTarget | undefined, sessionId: string) {
  if (!back) return c.redirect(new URL('/console', deps.appUrl).href, 303)
  // Our own pages know the browser by its cookie; only applications need a code.
  if (back.url.origin === deps.pagesUrl.origin && back.url.pathname.startsWith('/auth/')) {
    return c.redirect(back.url.href, 303)
  }
  const code = await issueSignInCode(deps, sessionId, back.codeChallenge)
  c.header('referrer-policy', 'no-referrer')
  return c.redirect(withCode(back, code), 303)
}
