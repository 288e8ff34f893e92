/** The browser on the auth service's own pages: its two cookies, and the check that a form came from our page. */
import { getCookie, setCookie } from 'hono/cookie'
import { html } from 'hono/html'
import { ServiceError } from '../src/contracts/errors.ts'
import { SESSION_SECONDS } from '../src/contracts/limits.ts'
import {
  endBrowserSession,
  findBrowserSession,
  findKnownDevice,
  rememberDevice,
  type SignedIn,
} from '../src/cores/identity/index.ts'
import type { HttpContext } from '../src/http/context.ts'
import { readBytes } from '../src/http/read-body.ts'
import { keyedHash, randomSecret, sameSecret } from '../src/trust/keyed-hash.ts'
import type { AuthDeps } from './dependencies.ts'

const SESSION = 'svc_auth'
/** Identifies the browser before sign-in, so that forms and provider sign-ins are bound to it. */
const BROWSER = 'svc_browser'
/** Which addresses have signed in here with a password. */
const DEVICE = 'svc_device'
/** The longest that browsers keep a cookie. */
const DEVICE_SECONDS = 400 * 24 * 60 * 60

/** `__Host-` keeps other hosts of the domain from setting the cookie; browsers accept it over https only. */
const nameFor = (deps: AuthDeps, name: string): string =>
  deps.pagesUrl.protocol === 'https:' ? `__Host-${name}` : name

const attributes = (deps: AuthDeps) =>
  ({ path: '/', httpOnly: true, sameSite: 'Lax', secure: deps.pagesUrl.protocol === 'https:' }) as const

export async function browserSession(deps: AuthDeps, c: HttpContext) {
  const secret = getCookie(c, nameFor(deps, SESSION))
  return secret === undefined ? undefined : findBrowserSession(deps, secret)
}

/** The browser is signed in from now on, and whoever was signed in before is not. */
export async function enterSession(deps: AuthDeps, c: HttpContext, signedIn: SignedIn): Promise<void> {
  const before = await browserSession(deps, c)
  if (before) await endBrowserSession(deps, before, c.get('requestId'))
  setCookie(c, nameFor(deps, SESSION), signedIn.browserSecret, {
    ...attributes(deps),
    maxAge: SESSION_SECONDS,
  })
}

export const knownDevice = (deps: AuthDeps, c: HttpContext, email: string): string | undefined =>
  findKnownDevice(deps, email, getCookie(c, nameFor(deps, DEVICE)))

/** After a proof that this browser belongs to the person: the right password, or a link to a new one. */
export function setDeviceCookie(deps: AuthDeps, c: HttpContext, email: string): void {
  if (knownDevice(deps, c, email) !== undefined) return
  const value = rememberDevice(deps, email, getCookie(c, nameFor(deps, DEVICE)))
  setCookie(c, nameFor(deps, DEVICE), value, { ...attributes(deps), maxAge: DEVICE_SECONDS })
}

export function browserIdOf(deps: AuthDeps, c: HttpContext): string {
  const known = getCookie(c, nameFor(deps, BROWSER))
  if (known !== undefined && /^[\w-]{43}$/.test(known)) return known
  const browserId = randomSecret()
  setCookie(c, nameFor(deps, BROWSER), browserId, attributes(deps))
  return browserId
}

export const hiddenFields = (deps: AuthDeps, c: HttpContext, fields: Record<string, string> = {}) =>
  Object.entries({ form: formToken(deps, browserIdOf(deps, c)), ...fields }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  )

/** Proves that the page is ours and for this browser: the second defense against forged posts. */
const formToken = (deps: AuthDeps, browserId: string): string =>
  keyedHash(deps.keyFor('page-forms'), `form:${browserId}`)

/** The fields of a form that our own page in this browser sent; anything else is refused. */
export async function readForm(deps: AuthDeps, c: HttpContext): Promise<Record<string, string>> {
  if (!isSameOrigin((name) => c.req.header(name), deps.pagesUrl)) throw forgedForm()
  if (c.req.header('content-type')?.split(';')[0]?.trim() !== 'application/x-www-form-urlencoded')
    throw forgedForm()
  const text = new TextDecoder().decode(await readBytes(c.req.raw, 64 * 1024))
  const fields = Object.fromEntries(
    [...new URLSearchParams(text)].map(([name, value]) => [name, value.replaceAll('\0', '')]),
  )
  const browserId = getCookie(c, nameFor(deps, BROWSER))
  if (browserId === undefined || !sameSecret(formToken(deps, browserId), fields.form ?? ''))
    throw forgedForm()
  return fields
}

const forgedForm = () =>
  new ServiceError('FORBIDDEN', 'This form has expired or was not sent from our page', {
    hint: 'Reload the page and try again. Cookies must be enabled.',
  })

/** For endpoints that act on a cookie. */
export function isSameOrigin(header: (name: string) => string | undefined, expected: URL): boolean {
  const origin = header('origin')
  if (origin && origin !== 'null') return origin === expected.origin
  // Privacy settings turn Origin into `null` or drop it; a page cannot set Sec-Fetch-Site.
  return header('sec-fetch-site') === 'same-origin'
}

export const deviceOf = (c: HttpContext): string =>
  (c.req.header('user-agent') ?? 'unknown device').replaceAll('\0', '')
