/** The middleware before every page: resolves the session cookie into a session, and checks the token of every form. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Next } from 'hono'
import { httpClient, type Call, type CallOptions } from '../client/http-client.ts'
import { ADDRESS_HEADER } from '../client/service.ts'
import { ServiceError } from '../contracts/errors.ts'
import { listNotifications } from '../contracts/inbox.ts'
import { listOrganizations, showOrganization } from '../contracts/organizations.ts'
import { whoAmI } from '../contracts/people.ts'
import { rotateSession } from '../contracts/sessions.ts'
import { isPerson, validateToken } from '../contracts/tokens.ts'
import {
  Redirect,
  type ConsoleSession,
  type Organization,
  type PageContext,
  type SupportSession,
} from './context.ts'
import { readSessionToken, saveSessionToken } from './cookies.ts'
import { text } from './forms.ts'
import { readFlash, setFlash } from './flash.ts'
import { HOME } from './safe-next.ts'
import { findSupportSession, forgetSupportSession, rememberedOrganization } from './support-session.ts'

export async function requireSession(c: PageContext, next: Next): Promise<void> {
  const token = readSessionToken(c)
  if (token === undefined) throw new ServiceError('UNAUTHENTICATED')
  if (c.req.method === 'POST') {
    const form = await c.req.formData().catch(() => new FormData())
    c.set('form', form)
    const support = await supportSessionOf(c, token)
    const session = await loadSession(c, token, text(form, 'organization') || undefined, support)
    checkFormToken(form, session)
    c.set('session', session)
  } else {
    const fresh = await freshToken(c, token)
    const support = await supportSessionOf(c, fresh)
    c.set('session', await loadSession(c, fresh, support?.organization.id, support))
  }
  c.set('identity', c.get('session')!.me.user.id)
  await next()
}

/** If it has ended meanwhile, the user is told so before any page is shown as if it had not. */
async function supportSessionOf(c: PageContext, token: string): Promise<SupportSession | undefined> {
  const organization = rememberedOrganization(c)
  if (organization === undefined) return undefined
  const support = await findSupportSession(clientFor(c, token), organization)
  if (support) return support
  forgetSupportSession(c)
  // A form names its organization itself, and is refused if it was about this one.
  if (c.req.method === 'POST') return undefined
  setFlash(c, 'problem', 'Your support session has ended.')
  throw new Redirect(HOME)
}

export const clientFor = (
  c: PageContext,
  token?: string,
  options: Pick<CallOptions, 'organization' | 'signal' | 'validation'> = {},
): Call => httpClient(c.get('deps').gateway, optionsFor(c, token, options))

export const optionsFor = (
  c: PageContext,
  token: string | undefined,
  options: Pick<CallOptions, 'organization' | 'signal' | 'validation'>,
): CallOptions => ({
  ...options,
  token,
  entryPoint: 'console',
  address: c.req.header(ADDRESS_HEADER),
  requestId: c.get('requestId'),
  traceparent: c.req.header('traceparent'),
  userAgent: c.req.header('user-agent'),
})

/**
 * `named` is the organization a form was shown for: when another tab has switched meanwhile, the button must
 * still do what its label says, or nothing.
 */
async function loadSession(
  c: PageContext,
  token: string,
  named: string | undefined,
  support: SupportSession | undefined,
): Promise<ConsoleSession> {
  const { call, who, own } = await identify(c, token, named)
  const unread = unreadOf(c, call, who)
  const [me, organizations] = await Promise.all([who, own ?? organizationsOf(call)])
  if (named !== undefined && me.organization?.id !== named) {
    throw new ServiceError('FORBIDDEN', 'You are no longer a member of the organization of this page')
  }
  return {
    me,
    call,
    organization: me.organization ? await detailsOf(me.organization.id, organizations, call) : null,
    organizations,
    formToken: formTokenOf(me.session_id),
    // A page that is shown anew by the script does not take the message of the one that is being opened.
    flash: c.req.method === 'GET' && c.req.header('sec-fetch-mode') !== 'cors' ? readFlash(c) : undefined,
    support: support?.organization.id === me.organization?.id ? support : undefined,
    callIn: (organization) => clientFor(c, token, { organization }),
    callWhile: (open) => clientFor(c, token, { organization: named, signal: open }),
    unread,
  }
}

type Me = ConsoleSession['me']

type Identified = {
  readonly call: Call
  readonly who: Me | Promise<Me>
  /** Their organizations, where the answer that says who they are brought them along. */
  readonly own: readonly Organization[] | undefined
}

/**
 * Who is signed in. Where everything runs in this process, the answer to that goes along with whatever else a page reads,
 * and is not asked for again (src/trust/fresh-validations.ts); whatever changes something is asked anew. It brings
 * along the organizations that every page shows.
 */
async function identify(c: PageContext, token: string, named: string | undefined): Promise<Identified> {
  const { gateway, authMode, isAuthHere } = c.get('deps')
  const call = clientFor(c, token, { organization: named })
  const isHere = gateway.callInProcess !== undefined && authMode !== 'hosted'
  if (!isHere || named !== undefined || c.req.method !== 'GET')
    return { call, who: call(whoAmI, {}), own: undefined }
  // One of the version before, while it is upgraded, would refuse what it does not know.
  const more = isAuthHere ? { organizations: true } : {}
  const validation = await call(validateToken, { token, audience: 'api', ...more })
  const email = isPerson(validation) ? validation.user.email : null
  if (!isPerson(validation) || email === null) throw new ServiceError('UNAUTHENTICATED')
  const { organizations: own, ...holder } = validation
  const who = { ...holder, user: { ...validation.user, email } }
  return { call: clientFor(c, token, { validation }), who, own }
}

const organizationsOf = async (call: Call): Promise<readonly Organization[]> =>
  (await call(listOrganizations, {})).organizations

/** A number beside a link: when the call fails, the page is shown without it. Begun beside whatever else the page asks first. */
async function unreadOf(c: PageContext, call: Call, who: Identified['who']): Promise<number> {
  try {
    const { organization } = who instanceof Promise ? await who : who
    if (organization === null || c.req.method !== 'GET') return 0
    return (await call(listNotifications, { limit: 1 })).unread_count
  } catch {
    return 0
  }
}

const detailsOf = async (id: string, listed: readonly Organization[], call: Call): Promise<Organization> =>
  listed.find((organization) => organization.id === id) ?? (await call(showOrganization, { org_id: id }))

/** Nobody but the user's own pages knows the session id, so no key of ours is needed and replicas agree. */
function formTokenOf(sessionId: string | undefined): string {
  // Never by the user's id instead: colleagues see that.
  if (sessionId === undefined) throw new ServiceError('UNAUTHENTICATED')
  return createHmac('sha256', sessionId).update('svc-console/form').digest('base64url')
}

function checkFormToken(form: FormData, session: ConsoleSession): void {
  const [given, own] = [Buffer.from(text(form, 'form_token')), Buffer.from(session.formToken)]
  if (given.length === own.length && timingSafeEqual(given, own)) return
  throw new ServiceError('FORBIDDEN', 'This form does not belong to your current session', {
    hint: 'Go back, reload the page and try again.',
  })
}

/** Rotated this often, a stolen token is of use for minutes, and its second use ends the session. */
const ROTATE_AFTER_SECONDS = 15 * 60

export async function freshToken(c: PageContext, token: string): Promise<string> {
  const age = ageSeconds(token, c.get('deps').clock())
  if (age === undefined || age < ROTATE_AFTER_SECONDS) return token
  try {
    const session = await clientFor(c, token)(rotateSession, {})
    saveSessionToken(c, session)
    return session.token
  } catch (error) {
    // Another tab was faster and its answer brought the new cookie; ours is good for another minute.
    if (error instanceof ServiceError && error.code === 'CONFLICT') return token
    throw error
  }
}

/** One that another tab has just replaced is good for a minute. */
const REPLACED_SECONDS = 10

/** How long nobody rotates it. */
export const secondsUntilRotation = (c: PageContext, token: string): number =>
  Math.max(REPLACED_SECONDS, ROTATE_AFTER_SECONDS - (ageSeconds(token, c.get('deps').clock()) ?? Infinity))

/** Read without verifying: it only decides when to ask for a new token, and a forged one harms nobody but its owner. */
export function ageSeconds(token: string, now: Date): number | undefined {
  try {
    const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
      iat?: unknown
    }
    return typeof payload.iat === 'number' ? now.getTime() / 1000 - payload.iat : undefined
  } catch {
    return undefined
  }
}
