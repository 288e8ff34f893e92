/** An invitation link: join with the account one is signed in to, or make one. Looking at it changes nothing. */
import { html } from 'hono/html'
import * as z from 'zod'
import { ServiceError } from '../../src/contracts/errors.ts'
import { DisplayName } from '../../src/contracts/fields.ts'
import { PASSWORD_MIN } from '../../src/contracts/limits.ts'
import { NewPassword } from '../../src/contracts/people.ts'
import { registerByInvitation } from '../../src/cores/identity/index.ts'
import { acceptAs, findInvitation } from '../../src/cores/organizations/index.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import type { HttpContext } from '../../src/http/context.ts'
import { button, inputField, linkButton, problemNotice } from '../../src/pages/parts.ts'
import { deviceOf, keepSignedIn, readForm, signedInBrowser, tokenFor, visitorOf } from '../browser.ts'
import type { AuthNeeds } from '../needs.ts'
import { page } from './page.ts'
import { hiddenFields } from './sign-in.ts'

const gone = () =>
  new ServiceError('NOT_FOUND', 'This invitation is not valid any more', {
    hint: 'It was used, taken back, or is older than seven days. Ask for a new one.',
  })

export async function showInvitation(needs: AuthNeeds, c: HttpContext, error?: ServiceError, name = '') {
  const secret = c.req.param('secret') ?? ''
  const found = await findInvitation(needs, secret)
  if (!found) throw gone()
  const { invitation, org } = found
  const browser = await signedInBrowser(needs, c)
  const hidden = hiddenFields({ form: tokenFor(needs, visitorOf(needs, c)) })
  const here = new URL(`/auth/invitation/${secret}`, needs.pagesUrl).href
  return page(c, {
    title: `Join ${org.name}`,
    problem: error,
    lead: html`You are invited as <strong>${invitation.role}</strong>. The invitation is for ${invitation.email}.`,
    body: html`${problemNotice(error, ['name', 'password'])}
      ${
        browser
          ? html`<form method="post" class="card">
              ${hidden}
              <p>You are signed in as <strong>${browser.name}</strong> (${browser.email}).</p>
              ${button(`Join as ${browser.name}`)}
            </form>`
          : strangerForms(needs, hidden, here, error, name)
      }`,
  })
}

const strangerForms = (
  needs: AuthNeeds,
  hidden: unknown,
  here: string,
  error: ServiceError | undefined,
  name: string,
) => html`${
  needs.passwordSignIn &&
  html`<form method="post" class="card">
      ${hidden}
      ${inputField({ name: 'name', label: 'Your name', autocomplete: 'name', required: true, value: name, problem: error })}
      ${inputField({
        name: 'password',
        label: 'Choose a password',
        type: 'password',
        autocomplete: 'new-password',
        required: true,
        minlength: PASSWORD_MIN,
        hint: `At least ${PASSWORD_MIN} characters: a few words do.`,
        problem: error,
      })}
      ${button('Create account and join')}
    </form>`
}
  <p>
    Already have an account?
    ${linkButton(`/auth/sign-in?${new URLSearchParams({ return_to: here })}`, 'Sign in first', 'quiet')}
  </p>`

const NewAccount = z.object({ name: DisplayName, password: NewPassword })

export async function takeInvitation(needs: AuthNeeds, c: HttpContext) {
  const secret = c.req.param('secret') ?? ''
  const fields = await readForm(needs, c)
  const browser = await signedInBrowser(needs, c)
  const requestId = c.get('requestId')
  try {
    if (browser) {
      const by = { kind: 'user' as const, userId: browser.userId, userName: browser.name, requestId }
      await withTransaction(needs.db, (tx) => acceptAs(tx, needs, by, secret))
    } else {
      const given = NewAccount.safeParse(fields)
      if (!given.success) {
        const problems = given.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
        throw new ServiceError('INVALID_REQUEST', 'Something is missing', { problems })
      }
      const signedIn = await registerByInvitation(needs, {
        secret,
        ...given.data,
        device: deviceOf(c),
        requestId,
      })
      keepSignedIn(needs, c, signedIn)
    }
    return c.redirect(new URL('/console', needs.appUrl).href, 303)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    if (error.code === 'NOT_FOUND') throw gone()
    return showInvitation(needs, c, error, fields.name)
  }
}
