/**
 * Approving a login of the client. Nothing is approved by itself, and nobody learns anything about a code before they are
 * signed in. People type the code of a device; the page of a browser on the same machine is found by its address.
 */
import { html } from 'hono/html'
import { ServiceError } from '../../src/contracts/errors.ts'
import { CLI_LOGIN, CLI_SESSION_SECONDS } from '../../src/contracts/limits.ts'
import {
  approveCliLogin,
  denyCliLogin,
  findBrowserLogin,
  findDeviceLogin,
  organizationsOf,
  showUserCode,
  stateOf,
  type CliLogin,
} from '../../src/cores/identity/index.ts'
import type { HttpContext } from '../../src/http/context.ts'
import { button, inputField, notice, problemNotice } from '../../src/pages/parts.ts'
import { browserSession, hiddenFields, readForm } from '../browser-session.ts'
import type { AuthDeps } from '../dependencies.ts'
import { facts, organizationChoice } from './organization-choice.ts'
import { page } from './page.ts'

type Person = NonNullable<Awaited<ReturnType<typeof browserSession>>>
/** One login that a signed-in person looks at. */
type Shown = { readonly person: Person; readonly login: CliLogin; readonly code: string | null }

const DEVICE_PATH = '/auth/device'

export async function showCodeForm(deps: AuthDeps, c: HttpContext) {
  return (await browserSession(deps, c)) ? codeForm(deps, c) : signIn(deps, c, DEVICE_PATH)
}

function codeForm(deps: AuthDeps, c: HttpContext, refused?: { problem: ServiceError; typed: string }) {
  return page(c, {
    title: 'Sign in a device',
    lead: html`Type the code that <code>svc login</code> shows in your terminal.`,
    problem: refused?.problem,
    body: html`${problemNotice(refused?.problem)}
      <form method="post" action="${DEVICE_PATH}" class="card">
        ${hiddenFields(deps, c)}
        ${inputField({
          name: 'user_code',
          label: 'Code',
          placeholder: 'XXXX-XXXX',
          autocomplete: 'off',
          required: true,
          maxlength: 20,
          value: refused?.typed,
          problem: refused?.problem,
        })}
        ${button('Continue')}
      </form>
      ${warning()}`,
  })
}

const warning = () =>
  notice(
    'info',
    html`<p>Continue only if you started this yourself just now. Nobody who helps you needs you to type or allow a code.</p>`,
  )

/** The code, and then the decision about it: the code is looked up anew each time, and never stands in an address. */
export async function submitCode(deps: AuthDeps, c: HttpContext) {
  const fields = await readForm(deps, c)
  const person = await browserSession(deps, c)
  if (!person) return signIn(deps, c, DEVICE_PATH)
  const typed = fields.user_code?.slice(0, 20) ?? ''
  try {
    const login = requireOpen(
      deps,
      await findDeviceLogin(deps, typed, { userId: person.userId, address: c.get('address') }),
      'code',
    )
    return await decide(deps, c, { person, login, code: showUserCode(typed) }, fields)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return codeForm(deps, c, { problem: error, typed })
  }
}

export async function showBrowserLogin(deps: AuthDeps, c: HttpContext) {
  const person = await browserSession(deps, c)
  if (!person) return signIn(deps, c, c.req.path)
  return approvePage(deps, c, { person, login: await requestedLogin(deps, c), code: null })
}

export async function submitBrowserLogin(deps: AuthDeps, c: HttpContext) {
  const fields = await readForm(deps, c)
  const person = await browserSession(deps, c)
  if (!person) return signIn(deps, c, c.req.path)
  return decide(deps, c, { person, login: await requestedLogin(deps, c), code: null }, fields)
}

const requestedLogin = async (deps: AuthDeps, c: HttpContext): Promise<CliLogin> =>
  requireOpen(deps, await findBrowserLogin(deps, c.req.param('secret') ?? ''), 'request')

function requireOpen(deps: AuthDeps, login: CliLogin | undefined, what: 'code' | 'request'): CliLogin {
  const state = stateOf(login, deps.clock())
  if (login && state === 'open') return login
  const hint = 'Start again in your terminal: svc login'
  if (state === 'decided')
    throw new ServiceError('INVALID_REQUEST', `This ${what} was already used`, { hint })
  if (state === 'late') {
    const minutes = CLI_LOGIN.seconds / 60
    throw new ServiceError('INVALID_REQUEST', `This ${what} has expired: it works for ${minutes} minutes`, {
      hint,
    })
  }
  throw new ServiceError('INVALID_REQUEST', `This ${what} is not valid`, {
    hint: what === 'code' ? 'Compare it with the one in your terminal.' : hint,
  })
}

async function decide(deps: AuthDeps, c: HttpContext, shown: Shown, fields: Record<string, string>) {
  const { person, login, code } = shown
  const path = code === null ? c.req.path : DEVICE_PATH
  if (fields.decision === 'sign_in') return signIn(deps, c, path, { asSomebodyElse: true })
  // Who approves is who saw the page.
  if (fields.person !== person.userId || !fields.decision) return approvePage(deps, c, shown)
  if (fields.decision !== 'approve') {
    await denyCliLogin(deps, login)
    return login.redirectUri === null
      ? donePage(c, 'Denied', 'Nothing was signed in.')
      : goBack(c, login, { error: 'access_denied' })
  }
  const organizations = await organizationsOf(deps, person.userId)
  const organization = organizations.find(({ id }) => id === fields.organization)
  if (!organization) return approvePage(deps, c, shown, 'Choose an organization.')
  const approved = await approveCliLogin(deps, login, {
    person,
    orgId: organization.id,
    requestId: c.get('requestId'),
  })
  if (approved === undefined)
    throw new ServiceError('CONFLICT', 'This could not be approved any more', {
      hint: 'Start again in your terminal: svc login',
    })
  return approved === null
    ? donePage(c, 'Device signed in', `It works in ${organization.name}. You can return to your terminal.`)
    : goBack(c, login, { code: approved })
}

function goBack(c: HttpContext, { redirectUri, state }: CliLogin, answer: Record<string, string>) {
  const target = new URL(redirectUri!)
  target.search = new URLSearchParams({ ...answer, state: state! }).toString()
  c.header('referrer-policy', 'no-referrer')
  return c.redirect(target.href, 303)
}

const donePage = (c: HttpContext, title: string, lead: string) =>
  page(c, {
    title,
    lead,
    body: html`<p class="note">Your devices are under <a href="/console/profile">Profile</a>, where you can sign each of them out.</p>`,
  })

const DAY_SECONDS = 24 * 60 * 60

async function approvePage(deps: AuthDeps, c: HttpContext, { person, login, code }: Shown, problem?: string) {
  const organizations = await organizationsOf(deps, person.userId)
  const isHere = login.address === c.get('address')
  const refused = problem === undefined ? undefined : new ServiceError('INVALID_REQUEST', problem)
  return page(c, {
    title: 'svc asks to sign in',
    isConsent: true,
    problem: refused,
    body: html`${problemNotice(refused)}
      ${facts([
        code !== null && [
          'Code',
          html`<strong>${code}</strong> <span class="note">Your terminal must show the same.</span>`,
        ],
        [
          'Asked from',
          html`<strong>${login.address}</strong>
            <span class="note">${isHere ? 'The address of this browser.' : 'Not the address of this browser.'}</span>`,
        ],
        login.hostName !== null && [
          'Computer',
          html`<bdi>“${login.hostName}”</bdi> <span class="note">unverified, as the program says</span>`,
        ],
        [
          'Program',
          html`<bdi>“${login.clientName}”</bdi> <span class="note">unverified, as the program says</span>`,
        ],
        ['Signed in as', html`<strong>${person.name}</strong> <span class="note">${person.email}</span>`],
        ['Lasts', `${CLI_SESSION_SECONDS / DAY_SECONDS} days, or until you sign it out`],
      ])}
      ${organizations.length === 0 && notice('problem', html`<p>You are not a member of an organization yet.</p>`)}
      <form method="post" action="${code === null ? c.req.path : DEVICE_PATH}" class="card">
        ${hiddenFields(deps, c, { person: person.userId, ...(code !== null && { user_code: code }) })}
        ${organizationChoice(organizations, person.lastOrgId)}
        <p class="note">It acts with your role there. It never sees passwords, sessions or secrets.</p>
        ${warning()}
        <div class="actions decide">
          <button type="submit" name="decision" value="approve" class="button button-main" ${organizations.length === 0 && html`disabled`}>Allow</button>
          <button type="submit" name="decision" value="deny" class="button button-quiet" formnovalidate>Deny</button>
          <button type="submit" name="decision" value="sign_in" class="button button-quiet" formnovalidate>Switch account</button>
        </div>
      </form>`,
  })
}

function signIn(deps: AuthDeps, c: HttpContext, path: string, { asSomebodyElse = false } = {}) {
  const there = new URL('/auth/sign-in', deps.pagesUrl)
  there.searchParams.set('return_to', new URL(path, deps.pagesUrl).href)
  if (asSomebodyElse) there.searchParams.set('prompt', 'login')
  return c.redirect(there.href, 303)
}
