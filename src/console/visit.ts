/** One signed-in person looking at one page: who they are, which organization they work in, how to call for them. */
import type { Context, Next } from 'hono'
import type * as z from 'zod'
import { caller, type Call } from '../client/call.ts'
import { ADDRESS_HEADER } from '../client/service.ts'
import { ServiceError } from '../contracts/errors.ts'
import { listInbox } from '../contracts/inbox.ts'
import {
  listOrganizations,
  showOrganization,
  type Organization as OrganizationShape,
} from '../contracts/organizations.ts'
import { whoAmI } from '../contracts/people.ts'
import { atLeast, type Role } from '../contracts/roles.ts'
import { rotateSession } from '../contracts/sessions.ts'
import { keepSession, readSession } from './cookies.ts'
import { leaveFlash, takeFlash, type Flash } from './flash.ts'
import type { ConsoleNeeds } from './needs.ts'
import { HOME, safeNext } from './safe-next.ts'
import { forgetVisit, supportVisitTo, visitedOrganization, type SupportVisit } from './support-visit.ts'
import { createHmac, timingSafeEqual } from 'node:crypto'

export type Organization = z.output<typeof OrganizationShape>

export type Visit = {
  me: z.output<typeof whoAmI.output>
  call: Call
  organization: Organization | null
  organizations: readonly Organization[]
  /** Stands in every form; a page of another site cannot know it. */
  formToken: string
  flash: Flash | undefined
  /** Support staff in an organization that is not theirs. */
  support: SupportVisit | undefined
  /** For what takes several calls: the same organization in all of them, though another tab may switch meanwhile. */
  callIn: (organization: string) => Call
  /** Under way while the page asks for what it shows; the layout waits for it last. */
  unread: Promise<number>
}

export type ConsoleEnv = {
  Variables: {
    needs: ConsoleNeeds
    visit: Visit | undefined
    form: FormData
    /** Shared with the frame the console stands in, which writes the log line: the request, its page, its failure. */
    requestId: string
    route: string
    failure: unknown
  }
}

type C = Context<ConsoleEnv>

/** Go to another page instead of finishing this one. */
export class GoTo extends Error {
  readonly path: string
  constructor(path: string) {
    super(`go to ${path}`)
    this.path = path
  }
}

/** The middleware before every page: no page without a live session, no change without the form's own token. */
export async function enter(c: C, next: Next): Promise<void> {
  const token = readSession(c)
  if (token === undefined) throw new ServiceError('UNAUTHENTICATED')
  if (c.req.method === 'POST') {
    const form = await c.req.formData().catch(() => new FormData())
    c.set('form', form)
    const visited = await supportVisitOf(c, token)
    const visit = await visitWith(c, token, text(form, 'organization') || undefined, visited)
    refuseForeignForm(form, visit)
    c.set('visit', visit)
  } else {
    const fresh = await freshToken(c, token)
    const visited = await supportVisitOf(c, fresh)
    c.set('visit', await visitWith(c, fresh, visited?.organization.id, visited))
  }
  await next()
}

/** One that was ended meanwhile is said to be over, before any page is shown as if it were not. */
async function supportVisitOf(c: C, token: string): Promise<SupportVisit | undefined> {
  const organization = visitedOrganization(c)
  if (organization === undefined) return undefined
  const visit = await supportVisitTo(callFor(c, token), organization)
  if (visit) return visit
  forgetVisit(c)
  // A form names its organization itself, and is refused if it was about this one.
  if (c.req.method === 'POST') return undefined
  leaveFlash(c, 'problem', 'Your visit as support staff has ended.')
  throw new GoTo(HOME)
}

export function visitOf(c: C): Visit {
  const visit = c.get('visit')
  if (!visit) throw new Error('a page was reached without passing `enter`')
  return visit
}

/** The organization of a page that makes no sense without one. */
export function organizationOf(c: C): Organization {
  const { organization } = visitOf(c)
  if (!organization) throw new GoTo(HOME)
  return organization
}

export const hasRole = (visit: Visit, minimum: Role): boolean =>
  visit.organization !== null && atLeast(visit.organization.role, minimum)

/** A text field of a form as it was typed; files and absent fields are empty. */
export function text(form: FormData, name: string): string {
  const value = form.get(name)
  return typeof value === 'string' ? value : ''
}

export const texts = (form: FormData, name: string): string[] =>
  form.getAll(name).filter((value) => typeof value === 'string')

/** Where a form in a list wants to return: the same page of the same filtered list. */
export const backFrom = (c: C): string => safeNext(text(c.get('form'), 'back'), c.var.needs.appUrl)

export const callFor = (c: C, token?: string, organization?: string): Call =>
  caller(c.var.needs.gateway, {
    token,
    organization,
    door: 'console',
    address: c.req.header(ADDRESS_HEADER),
    requestId: c.var.requestId,
    traceparent: c.req.header('traceparent'),
    userAgent: c.req.header('user-agent'),
  })

/**
 * `named` is the organization a form was shown for: when another tab has switched meanwhile, the button must
 * still do what it said, or nothing.
 */
async function visitWith(
  c: C,
  token: string,
  named: string | undefined,
  support: SupportVisit | undefined,
): Promise<Visit> {
  const call = callFor(c, token, named)
  const [me, { organizations }] = await Promise.all([call(whoAmI, {}), call(listOrganizations, {})])
  if (named !== undefined && me.organization?.id !== named) {
    throw new ServiceError('FORBIDDEN', 'You are no longer a member of the organization this page was about')
  }
  return {
    me,
    call,
    organization: me.organization ? await detailsOf(me.organization.id, organizations, call) : null,
    organizations,
    formToken: formTokenOf(me.session_id ?? me.user.id),
    flash: c.req.method === 'GET' ? takeFlash(c) : undefined,
    support: support?.organization.id === me.organization?.id ? support : undefined,
    callIn: (organization) => callFor(c, token, organization),
    unread: me.organization && c.req.method === 'GET' ? unreadOf(call) : Promise.resolve(0),
  }
}

/** A number beside a link: when it cannot be had, the page is shown without it. */
const unreadOf = (call: Call): Promise<number> =>
  call(listInbox, { limit: 1 }).then(
    ({ unread_count }) => unread_count,
    () => 0,
  )

const detailsOf = async (id: string, listed: readonly Organization[], call: Call): Promise<Organization> =>
  listed.find((organization) => organization.id === id) ?? (await call(showOrganization, { org_id: id }))

/** Nobody but the visitor's own pages knows the session id, so no key of ours is needed and replicas agree. */
const formTokenOf = (sessionId: string): string =>
  createHmac('sha256', sessionId).update('svc-console/form').digest('base64url')

function refuseForeignForm(form: FormData, visit: Visit): void {
  const [given, own] = [Buffer.from(text(form, 'form_token')), Buffer.from(visit.formToken)]
  if (given.length === own.length && timingSafeEqual(given, own)) return
  throw new ServiceError('FORBIDDEN', 'This form does not belong to your present session', {
    hint: 'Go back, reload the page and send it again.',
  })
}

/** Swapped this often, a stolen token is of use for minutes, and its second use ends the session. */
const ROTATE_AFTER_SECONDS = 15 * 60

async function freshToken(c: C, token: string): Promise<string> {
  const age = ageSeconds(token, c.var.needs.clock())
  if (age === undefined || age < ROTATE_AFTER_SECONDS) return token
  try {
    const session = await callFor(c, token)(rotateSession, {})
    keepSession(c, session)
    return session.token
  } catch (error) {
    // Another tab was faster and its answer brought the new cookie; ours is good for another minute.
    if (error instanceof ServiceError && error.code === 'CONFLICT') return token
    throw error
  }
}

/** Read without verifying: it only decides when to ask for a new one, and a liar hurts nobody but himself. */
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
