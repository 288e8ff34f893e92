/** The page of an invitation link: join with the current account, or create one. Opening it changes nothing. */
import { html } from 'hono/html'
import * as z from 'zod'
import { ServiceError } from '../../src/contracts/errors.ts'
import { DisplayName } from '../../src/contracts/fields.ts'
import { PASSWORD_MIN } from '../../src/contracts/limits.ts'
import { NewPassword } from '../../src/contracts/people.ts'
import { registerWithInvitation } from '../../src/cores/identity/index.ts'
import { acceptInvitationAs, findInvitation } from '../../src/cores/organizations/index.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import type { HttpContext } from '../../src/http/context.ts'
import { button, inputField, linkButton, problemNotice } from '../../src/pages/parts.ts'
import {
  browserSession,
  deviceOf,
  enterSession,
  hiddenFields,
  readForm,
  setDeviceCookie,
} from '../browser-session.ts'
import type { AuthDeps } from '../dependencies.ts'
import { page } from './page.ts'

const gone = () =>
  new ServiceError('NOT_FOUND', 'This invitation is no longer valid', {
    hint: 'It was used, revoked, or is more than seven days old. Ask for a new one.',
  })

/** In the query and in the form: join with another account than the one that is signed in. */
const ANOTHER = { account: 'another' }

export async function showInvitation(
  deps: AuthDeps,
  c: HttpContext,
  error?: ServiceError,
  fields: Fields = {},
) {
  const secret = c.req.param('secret') ?? ''
  const found = await findInvitation(deps, secret)
  if (!found) throw gone()
  const { invitation, org } = found
  const asAnother = (fields.account ?? c.req.query('account')) === ANOTHER.account
  const browser = asAnother ? undefined : await browserSession(deps, c)
  const here = new URL(`/auth/invitation/${secret}`, deps.pagesUrl).href
  return page(c, {
    title: `Join ${org.name}`,
    problem: error,
    lead: html`You have been invited as <strong>${invitation.role}</strong>. The invitation is for ${invitation.email}.`,
    body: html`${problemNotice(error, ['name', 'password'])}
      ${browser ? joinForm(deps, c, browser, invitation.email) : signedOutForms(deps, c, here, error, fields)}`,
  })
}

type Fields = Record<string, string>

/** The account that is signed in is used where its address is the invited one; elsewhere the person chooses. */
function joinForm(
  deps: AuthDeps,
  c: HttpContext,
  { name, email }: { name: string; email: string },
  invited: string,
) {
  const fits = email === invited
  return html`${
    !fits &&
    html`<p>
      You are signed in with another address than the invited one.
      ${linkButton(`?${new URLSearchParams(ANOTHER)}`, 'Use another account')}
    </p>`
  }
  <form method="post" class="card">
    ${hiddenFields(deps, c)}
    <p>You are signed in as <strong>${name}</strong> (${email}).</p>
    ${button(`Join as ${name}`, fits ? 'main' : 'quiet')}
  </form>`
}

const signedOutForms = (
  deps: AuthDeps,
  c: HttpContext,
  here: string,
  error: ServiceError | undefined,
  { name = '' }: Fields,
) => html`${
  deps.passwordSignIn &&
  html`<form method="post" class="card">
      ${hiddenFields(deps, c, ANOTHER)}
      ${inputField({ name: 'name', label: 'Your name', autocomplete: 'name', required: true, value: name, problem: error })}
      ${inputField({
        name: 'password',
        label: 'Choose a password',
        type: 'password',
        autocomplete: 'new-password',
        required: true,
        minlength: PASSWORD_MIN,
        hint: `At least ${PASSWORD_MIN} characters. A few words work well.`,
        problem: error,
      })}
      ${button('Create account and join')}
    </form>`
}
  <p>
    Already have an account?
    ${linkButton(`/auth/sign-in?${new URLSearchParams({ return_to: here, prompt: 'login' })}`, 'Sign in first', 'quiet')}
  </p>`

const NewAccount = z.object({ name: DisplayName, password: NewPassword })

export async function submitInvitation(deps: AuthDeps, c: HttpContext) {
  const secret = c.req.param('secret') ?? ''
  const fields = await readForm(deps, c)
  const browser = fields.account === ANOTHER.account ? undefined : await browserSession(deps, c)
  const requestId = c.get('requestId')
  try {
    if (browser) {
      const by = { kind: 'user' as const, userId: browser.userId, userName: browser.name, requestId }
      await withTransaction(deps.db, (tx) => acceptInvitationAs(tx, deps, by, secret))
    } else {
      const given = NewAccount.safeParse(fields)
      if (!given.success) {
        const problems = given.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
        throw new ServiceError('INVALID_REQUEST', 'Some fields are not valid', { problems })
      }
      const signedIn = await registerWithInvitation(deps, {
        secret,
        ...given.data,
        device: deviceOf(c),
        requestId,
      })
      await enterSession(deps, c, signedIn)
      setDeviceCookie(deps, c, signedIn.email)
    }
    return c.redirect(new URL('/console', deps.appUrl).href, 303)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    if (error.code === 'NOT_FOUND') throw gone()
    return showInvitation(deps, c, error, fields)
  }
}
