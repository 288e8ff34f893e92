/** Password reset and email verification: the pages of the links we mail. Opening one changes nothing. */
import { html } from 'hono/html'
import { ServiceError } from '../../src/contracts/errors.ts'
import { Email } from '../../src/contracts/fields.ts'
import { PASSWORD_MIN } from '../../src/contracts/limits.ts'
import { NewPassword } from '../../src/contracts/people.ts'
import { requestPasswordReset, resetPassword, verifyEmail } from '../../src/cores/identity/index.ts'
import type { HttpContext } from '../../src/http/context.ts'
import { button, choice, inputField, linkButton, problemNotice } from '../../src/pages/parts.ts'
import { browserSession, hiddenFields, readForm, setDeviceCookie } from '../browser-session.ts'
import type { AuthDeps } from '../dependencies.ts'
import { page } from './page.ts'

export const showForgotPassword = (deps: AuthDeps, c: HttpContext) =>
  page(c, {
    title: 'Forgot your password?',
    lead: deps.mail
      ? 'Enter your email address and we will send you a link to reset your password.'
      : 'This installation has no mail server. Ask whoever runs it for a link to choose a new password.',
    body:
      deps.mail &&
      html`<form method="post" action="/auth/forgot" class="card">
        ${hiddenFields(deps, c)}
        ${inputField({ name: 'email', label: 'Email', type: 'email', autocomplete: 'username', required: true })}
        ${button('Send reset link')}
      </form>`,
  })

export async function submitForgotPassword(deps: AuthDeps, c: HttpContext) {
  const email = Email.safeParse((await readForm(deps, c)).email)
  if (email.success) await requestPasswordReset(deps, { address: c.get('address') }, email.data)
  return page(c, {
    title: 'Check your email',
    // The same text whether the account exists or not.
    lead: 'If an account uses this address, we have sent it a link. The link works for one hour.',
  })
}

export const showResetPassword = (deps: AuthDeps, c: HttpContext, error?: ServiceError) =>
  page(c, {
    title: 'Choose a new password',
    lead: 'You will be signed out everywhere else.',
    problem: error,
    body: html`${problemNotice(error, ['password'])}
      <form method="post" class="card">
        ${hiddenFields(deps, c)}
        ${inputField({
          name: 'password',
          label: 'New password',
          type: 'password',
          autocomplete: 'new-password',
          required: true,
          minlength: PASSWORD_MIN,
          hint: `At least ${PASSWORD_MIN} characters. A few words work well.`,
          problem: error,
        })}
        ${choice('checkbox', 'end_access', 'yes', false, 'Also disconnect my agents and revoke my API tokens', 'In all organizations. Choose this if somebody else may have used your account.')}
        ${button('Save')}
      </form>`,
  })

export async function submitResetPassword(deps: AuthDeps, c: HttpContext) {
  const form = await readForm(deps, c)
  const given = NewPassword.safeParse(form.password)
  if (!given.success) {
    const problems = given.error.issues.map((issue) => `password: ${issue.message}`)
    return showResetPassword(
      deps,
      c,
      new ServiceError('INVALID_REQUEST', 'This password is not valid', { problems }),
    )
  }
  const email = await resetPassword(deps, c.req.param('secret') ?? '', given.data, {
    requestId: c.get('requestId'),
    endsAccess: form.end_access === 'yes',
  })
  setDeviceCookie(deps, c, email)
  return page(c, {
    title: 'Your password has been changed',
    body: html`<p>${linkButton('/console', 'Sign in')}</p>`,
  })
}

export async function showVerifyEmail(deps: AuthDeps, c: HttpContext) {
  const browser = await browserSession(deps, c)
  const here = new URL(c.req.path, deps.pagesUrl).href
  return page(c, {
    title: 'Confirm your email address',
    lead: browser
      ? html`For the account of <strong>${browser.name}</strong> (${browser.email}).`
      : 'Sign in with the account that requested this link. If you did not request it, close this page.',
    body: browser
      ? html`<form method="post" class="card">${hiddenFields(deps, c)} ${button('Confirm email address')}</form>`
      : html`<p>${linkButton(`/auth/sign-in?${new URLSearchParams({ return_to: here })}`, 'Sign in')}</p>`,
  })
}

export async function submitVerifyEmail(deps: AuthDeps, c: HttpContext) {
  await readForm(deps, c)
  const browser = await browserSession(deps, c)
  if (!browser) throw new ServiceError('FORBIDDEN', 'Sign in first, then open the link again')
  await verifyEmail(deps, browser.userId, c.req.param('secret') ?? '', c.get('requestId'))
  return page(c, {
    title: 'Your email address is confirmed',
    body: html`<p>${linkButton('/console', 'Go to the console')}</p>`,
  })
}
