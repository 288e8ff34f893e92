/** The browser at the auth service's own pages: its two cookies, and the proof that a form came from our page. */
import { getCookie, setCookie } from 'hono/cookie'
import { ServiceError } from '../src/contracts/errors.ts'
import { SESSION_SECONDS } from '../src/contracts/limits.ts'
import { findBrowserSession, type SignedIn } from '../src/cores/identity/index.ts'
import type { HttpContext } from '../src/http/context.ts'
import { readBytes } from '../src/http/read-input.ts'
import { formToken, isFormToken } from '../src/trust/form-token.ts'
import { randomSecret } from '../src/trust/keyed-hash.ts'
import type { AuthNeeds } from './needs.ts'

const SESSION = 'svc_auth'
/** Names the browser before anybody is signed in, so that forms and walks to a provider are bound to it. */
const VISITOR = 'svc_visitor'

/** `__Host-` keeps other hosts of the domain from planting a cookie; browsers accept it over https only. */
const nameFor = (needs: AuthNeeds, name: string): string =>
  needs.pagesUrl.protocol === 'https:' ? `__Host-${name}` : name

const attributes = (needs: AuthNeeds) =>
  ({ path: '/', httpOnly: true, sameSite: 'Lax', secure: needs.pagesUrl.protocol === 'https:' }) as const

export async function signedInBrowser(needs: AuthNeeds, c: HttpContext) {
  const secret = getCookie(c, nameFor(needs, SESSION))
  return secret === undefined ? undefined : findBrowserSession(needs, secret)
}

export const keepSignedIn = (needs: AuthNeeds, c: HttpContext, signedIn: SignedIn): void =>
  setCookie(c, nameFor(needs, SESSION), signedIn.browserSecret, {
    ...attributes(needs),
    maxAge: SESSION_SECONDS,
  })

export function visitorOf(needs: AuthNeeds, c: HttpContext): string {
  const known = getCookie(c, nameFor(needs, VISITOR))
  if (known !== undefined && /^[\w-]{43}$/.test(known)) return known
  const visitor = randomSecret()
  setCookie(c, nameFor(needs, VISITOR), visitor, attributes(needs))
  return visitor
}

export const tokenFor = (needs: AuthNeeds, visitor: string): string =>
  formToken(needs.keyFor('page-forms'), visitor)

/** The fields of a form that our own page sent from this very browser; anything else is refused. */
export async function readForm(needs: AuthNeeds, c: HttpContext): Promise<Record<string, string>> {
  if (!isSameOrigin(c.req.raw.headers, needs.pagesUrl)) throw foreignForm()
  if (c.req.header('content-type')?.split(';')[0]?.trim() !== 'application/x-www-form-urlencoded')
    throw foreignForm()
  const text = new TextDecoder().decode(await readBytes(c.req.raw, 64 * 1024))
  const fields = Object.fromEntries(
    [...new URLSearchParams(text)].map(([name, value]) => [name, value.replaceAll('\0', '')]),
  )
  const visitor = getCookie(c, nameFor(needs, VISITOR))
  if (visitor === undefined || !isFormToken(needs.keyFor('page-forms'), visitor, fields.form))
    throw foreignForm()
  return fields
}

const foreignForm = () =>
  new ServiceError('FORBIDDEN', 'This form did not come from our page, or the page is too old', {
    hint: 'Load the page again. Cookies must be allowed.',
  })

function isSameOrigin(headers: Headers, pagesUrl: URL): boolean {
  const origin = headers.get('origin')
  if (origin && origin !== 'null') return origin === pagesUrl.origin
  // Privacy settings turn Origin into `null` or drop it; Sec-Fetch-Site cannot be set by a page.
  return headers.get('sec-fetch-site') === 'same-origin'
}

export const deviceOf = (c: HttpContext): string =>
  (c.req.header('user-agent') ?? 'unknown device').replaceAll('\0', '')
