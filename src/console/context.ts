/** What every page works with: the console's dependencies and the session of the request. */
import { Hono, type Context } from 'hono'
import type * as z from 'zod'
import type { Call } from '../client/http-client.ts'
import type { Service } from '../client/service.ts'
import { ServiceError } from '../contracts/errors.ts'
import type { Organization as OrganizationShape } from '../contracts/organizations.ts'
import type { whoAmI } from '../contracts/people.ts'
import { atLeast, type Role } from '../contracts/roles.ts'
import type { listMySupportSessions } from '../contracts/support.ts'
import { HOME } from './safe-next.ts'

/** Everything else the console asks the gateway, as any client does. */
export type ConsoleDeps = {
  gateway: Service
  /** Public address of the console. */
  appUrl: URL
  /** Public address of the HTTP API, for the commands people copy; the console's own when left out. */
  apiUrl?: URL
  /** Public address of the MCP endpoints, for the commands people give to their assistants. */
  mcpUrl: URL
  /** Public address of the authorization server, for the same commands; the console's own when left out. */
  authUrl?: URL
  /** With hosted auth nobody signs assistants in: they come with an API token or not at all. */
  authMode?: 'self' | 'hosted'
  /** Whether the auth-service is in this process, and so of this version. */
  isAuthHere?: boolean
  /** Where sign-in sends people. */
  signInUrl: URL
  /** For how long deliveries are kept. */
  deliveryDays: number
  clock: () => Date
  version: string
}

export type Organization = z.output<typeof OrganizationShape>
export type SupportSession = z.output<typeof listMySupportSessions.output>['support_sessions'][number]
export type Flash = { kind: 'done' | 'problem'; text: string }

export type ConsoleSession = {
  me: z.output<typeof whoAmI.output>
  call: Call
  organization: Organization | null
  organizations: readonly Organization[]
  /** Part of every form; a page of another site cannot know it. */
  formToken: string
  flash: Flash | undefined
  /** Set for support staff in an organization that is not theirs. */
  support: SupportSession | undefined
  /** For what takes several calls: the same organization in all of them, though another tab may switch meanwhile. */
  callIn: (organization: string) => Call
  /** For a call that waits: it ends with the request, so that a closed tab waits for nothing. */
  callWhile: (open: AbortSignal) => Call
  /** Started before the page asks for its own data; the layout awaits it last. */
  unread: Promise<number>
}

export type ConsoleEnv = {
  Variables: {
    deps: ConsoleDeps
    session: ConsoleSession | undefined
    form: FormData
    /** Shared with the service app around the console, which writes the log line: the request, its page, its failure. */
    requestId: string
    identity: string
    route: string
    failure: unknown
  }
}

export type PageContext = Context<ConsoleEnv>

export const createRoutes = () => new Hono<ConsoleEnv>()

/** Thrown to go to another page instead of finishing this one. */
export class Redirect extends Error {
  readonly path: string
  constructor(path: string) {
    super(`redirect to ${path}`)
    this.path = path
  }
}

export function sessionOf(c: PageContext): ConsoleSession {
  const session = c.get('session')
  if (!session) throw new Error('a page was reached without passing `requireSession`')
  return session
}

/** Path and query of this page. Not parsed: a list asks for it in each row. */
export const addressOf = ({ req: { url } }: PageContext): string =>
  url.slice(url.indexOf('/', url.indexOf('//') + 2))

/** The organization of a page that makes no sense without one. */
export function organizationOf(c: PageContext): Organization {
  const { organization } = sessionOf(c)
  if (!organization) throw new Redirect(HOME)
  return organization
}

export const hasRole = ({ organization }: ConsoleSession, minimum: Role): boolean =>
  organization !== null && atLeast(organization.role, minimum)

/** For pages that nobody below a role may open; what the page calls is checked by the gateway anyway. */
export function requireRole(c: PageContext, minimum: Role, message: string): void {
  organizationOf(c)
  if (!hasRole(sessionOf(c), minimum)) throw new ServiceError('FORBIDDEN', message)
}
