/** Sign-in: by password, or through an identity provider. */
import { html } from 'hono/html'
import * as z from 'zod'
import { ServiceError } from '../../src/contracts/errors.ts'
import { Email } from '../../src/contracts/fields.ts'
import {
  checkPassword,
  issueSignInCode,
  rememberAttempt,
  signInAs,
  takeAttempt,
  type SignInProvider,
} from '../../src/cores/identity/index.ts'
import type { HttpContext } from '../../src/http/context.ts'
import { button, inputField, problemNotice } from '../../src/pages/parts.ts'
import { deviceOf, keepSignedIn, readForm, signedInBrowser, tokenFor, visitorOf } from '../browser.ts'
import type { AuthNeeds } from '../needs.ts'
import { readReturn, withCode, writeReturn, type Return } from '../return-to.ts'
import { page } from './page.ts'

const unknownReturn = () =>
  new ServiceError('INVALID_REQUEST', 'The application that sent you here is not known', {
    hint: 'Its address is not among ALLOWED_REDIRECT_BASE_URLS. Start again from the console.',
  })

/** Without an application that asked, a sign-in ends at the console, which then asks by itself. */
function returnAsked(needs: AuthNeeds, asked: Record<string, string>): Return | undefined {
  if (asked.return_to === undefined) return undefined
  const found = readReturn(asked, needs.returnBases)
  if (!found) throw unknownReturn()
  return found
}

export async function showSignIn(needs: AuthNeeds, c: HttpContext) {
  const back = returnAsked(needs, c.req.query())
  const browser = await signedInBrowser(needs, c)
  if (browser) return goBack(needs, c, back, browser.sessionId)
  return signInPage(needs, c, back)
}

function signInPage(
  needs: AuthNeeds,
  c: HttpContext,
  back: Return | undefined,
  refused?: { error: unknown; email: string },
) {
  const error = refused?.error instanceof ServiceError ? refused.error : undefined
  const token = tokenFor(needs, visitorOf(needs, c))
  const hidden = hiddenFields({ form: token, ...(back ? writeReturn(back) : {}) })
  return page(c, {
    title: 'Sign in',
    problem: error,
    body: html`${problemNotice(error)}
      <div class="card sign-in">
        ${needs.providers.map(
          (provider) =>
            html`<form method="post" action="/auth/${provider.name}">
              ${hidden}
              <button type="submit" class="button button-quiet button-wide">Continue with ${provider.title}</button>
            </form>`,
        )}
        ${needs.providers.length > 0 && needs.passwordSignIn && html`<p class="or"><span>or</span></p>`}
        ${needs.passwordSignIn && passwordForm(needs, hidden, refused?.email ?? '')}
      </div>`,
  })
}

const passwordForm = (needs: AuthNeeds, hidden: unknown, email: string) =>
  html`<form method="post" action="/auth/sign-in">
    ${hidden}
    ${inputField({ name: 'email', label: 'E-mail', type: 'email', autocomplete: 'username', required: true, value: email })}
    ${inputField({
      name: 'password',
      label: 'Password',
      type: 'password',
      autocomplete: 'current-password',
      required: true,
    })}
    ${button('Sign in')} ${needs.mail && html`<a class="aside" href="/auth/forgot">Forgot your password?</a>`}
  </form>`

export const hiddenFields = (fields: Record<string, string>) =>
  Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)

const Credentials = z.object({ email: Email, password: z.string().min(1).max(512) })

export async function takePassword(needs: AuthNeeds, c: HttpContext) {
  const fields = await readForm(needs, c)
  const back = returnAsked(needs, fields)
  const given = Credentials.safeParse(fields)
  try {
    // What does not even look like credentials is as wrong as any others.
    if (!given.success) throw new ServiceError('UNAUTHENTICATED', 'E-mail or password is wrong')
    const { email, password } = given.data
    const from = { address: c.get('address'), requestId: c.get('requestId') }
    const signedIn = await checkPassword(needs, from, email, password, deviceOf(c))
    keepSignedIn(needs, c, signedIn)
    return await goBack(needs, c, back, signedIn.sessionId)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return signInPage(needs, c, back, { error, email: fields.email?.slice(0, 254) ?? '' })
  }
}

/** Off to the provider. What must be remembered is bound to this browser and good for one return. */
export async function leaveForProvider(needs: AuthNeeds, c: HttpContext, provider: SignInProvider) {
  const fields = await readForm(needs, c)
  const back = returnAsked(needs, fields)
  const { url, ...secrets } = await provider.begin(callbackOf(needs, provider))
  const returnTo = JSON.stringify(back ? writeReturn(back) : {})
  await rememberAttempt(needs, {
    ...secrets,
    provider: provider.name,
    returnTo,
    browser: visitorOf(needs, c),
  })
  return c.redirect(url.href, 303)
}

export async function returnFromProvider(needs: AuthNeeds, c: HttpContext, provider: SignInProvider) {
  const state = c.req.query('state') ?? ''
  const attempt = await takeAttempt(needs, { provider: provider.name, state, browser: visitorOf(needs, c) })
  if (!attempt) {
    throw new ServiceError(
      'INVALID_REQUEST',
      'This sign-in was not begun in this browser, or it took too long',
      {
        hint: 'Start again from the sign-in page.',
      },
    )
  }
  const redirectUri = callbackOf(needs, provider)
  // From configuration, not from the request: a proxy may have changed host and scheme.
  const callback = new URL(redirectUri)
  callback.search = new URL(c.req.url).search
  const { nonce, codeVerifier } = attempt
  const person = await provider.finish(callback, { state, nonce, codeVerifier, redirectUri })
  const signedIn = await signInAs(needs, person, { device: deviceOf(c), requestId: c.get('requestId') })
  keepSignedIn(needs, c, signedIn)
  const back = returnAsked(needs, JSON.parse(attempt.returnTo) as Record<string, string>)
  return goBack(needs, c, back, signedIn.sessionId)
}

const callbackOf = (needs: AuthNeeds, provider: SignInProvider) =>
  new URL(`/auth/${provider.name}/callback`, needs.pagesUrl)

async function goBack(needs: AuthNeeds, c: HttpContext, back: Return | undefined, sessionId: string) {
  if (!back) return c.redirect(new URL('/console', needs.appUrl).href, 303)
  // Our own pages know the browser by its cookie; only applications need a code.
  if (back.url.origin === needs.pagesUrl.origin && back.url.pathname.startsWith('/auth/')) {
    return c.redirect(back.url.href, 303)
  }
  const code = await issueSignInCode(needs, sessionId, back.codeChallenge)
  c.header('referrer-policy', 'no-referrer')
  return c.redirect(withCode(back, code), 303)
}
