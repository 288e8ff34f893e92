/** Forgotten passwords and unproven addresses: the pages behind the links we mail. Opening one changes nothing. */
import { html } from 'hono/html'
import { ServiceError } from '../../src/contracts/errors.ts'
import { Email } from '../../src/contracts/fields.ts'
import { PASSWORD_MIN } from '../../src/contracts/limits.ts'
import { NewPassword } from '../../src/contracts/people.ts'
import { askForReset, resetPassword, verifyAddress } from '../../src/cores/identity/index.ts'
import type { HttpContext } from '../../src/http/context.ts'
import { button, inputField, linkButton, problemNotice } from '../../src/pages/parts.ts'
import { readForm, signedInBrowser, tokenFor, visitorOf } from '../browser.ts'
import type { AuthNeeds } from '../needs.ts'
import { page } from './page.ts'
import { hiddenFields } from './sign-in.ts'

const hiddenFor = (needs: AuthNeeds, c: HttpContext) =>
  hiddenFields({ form: tokenFor(needs, visitorOf(needs, c)) })

export const showForgot = (needs: AuthNeeds, c: HttpContext) =>
  page(c, {
    title: 'Forgot your password?',
    lead: needs.mail
      ? 'Tell us your e-mail address and we send you a link.'
      : 'This installation has no mail server. Ask an owner of your organization for a new invitation.',
    body:
      needs.mail &&
      html`<form method="post" action="/auth/forgot" class="card">
        ${hiddenFor(needs, c)}
        ${inputField({ name: 'email', label: 'E-mail', type: 'email', autocomplete: 'username', required: true })}
        ${button('Send me a link')}
      </form>`,
  })

export async function takeForgot(needs: AuthNeeds, c: HttpContext) {
  const email = Email.safeParse((await readForm(needs, c)).email)
  if (email.success) await askForReset(needs, { address: c.get('address') }, email.data)
  return page(c, {
    title: 'Look into your mailbox',
    // The same words whether there is an account or not.
    lead: 'If there is an account with this address, a link is on its way. It works for an hour.',
  })
}

export const showReset = (needs: AuthNeeds, c: HttpContext, error?: ServiceError) =>
  page(c, {
    title: 'Choose a new password',
    lead: 'Everywhere else you will be signed out.',
    problem: error,
    body: html`${problemNotice(error, ['password'])}
      <form method="post" class="card">
        ${hiddenFor(needs, c)}
        ${inputField({
          name: 'password',
          label: 'New password',
          type: 'password',
          autocomplete: 'new-password',
          required: true,
          minlength: PASSWORD_MIN,
          hint: `At least ${PASSWORD_MIN} characters: a few words do.`,
          problem: error,
        })}
        ${button('Save')}
      </form>`,
  })

export async function takeReset(needs: AuthNeeds, c: HttpContext) {
  const given = NewPassword.safeParse((await readForm(needs, c)).password)
  if (!given.success) {
    const problems = given.error.issues.map((issue) => `password: ${issue.message}`)
    return showReset(needs, c, new ServiceError('INVALID_REQUEST', 'This password does not do', { problems }))
  }
  await resetPassword(needs, c.req.param('secret') ?? '', given.data, c.get('requestId'))
  return page(c, {
    title: 'Your password is changed',
    body: html`<p>${linkButton('/console', 'Sign in')}</p>`,
  })
}

export async function showVerify(needs: AuthNeeds, c: HttpContext) {
  const browser = await signedInBrowser(needs, c)
  const here = new URL(c.req.path, needs.pagesUrl).href
  return page(c, {
    title: 'Confirm your e-mail address',
    lead: browser
      ? html`For the account of <strong>${browser.name}</strong> (${browser.email}).`
      : 'Sign in with the account that asked for this link. If you did not ask for it, close this page.',
    body: browser
      ? html`<form method="post" class="card">${hiddenFor(needs, c)} ${button('Yes, this is my address')}</form>`
      : html`<p>${linkButton(`/auth/sign-in?${new URLSearchParams({ return_to: here })}`, 'Sign in')}</p>`,
  })
}

export async function takeVerify(needs: AuthNeeds, c: HttpContext) {
  await readForm(needs, c)
  const browser = await signedInBrowser(needs, c)
  if (!browser) throw new ServiceError('FORBIDDEN', 'Sign in first, then open the link again')
  await verifyAddress(needs, browser.userId, c.req.param('secret') ?? '', c.get('requestId'))
  return page(c, {
    title: 'Thank you',
    lead: 'Your address is confirmed.',
    body: html`<p>${linkButton('/console', 'Go to the console')}</p>`,
  })
}
