/**
 * Support staff in an organization that is not theirs. A support session applies only to calls that name its
 * organization, so the console remembers the organization in a cookie and names it in every call until the end.
 */
import type { Call } from '../client/http-client.ts'
import { idPattern } from '../contracts/ids.ts'
import { PAGE_MAX } from '../contracts/limits.ts'
import { listMySupportSessions } from '../contracts/support.ts'
import type { PageContext, SupportSession } from './context.ts'
import { clearCookie, readCookie, writeCookie } from './cookies.ts'

const COOKIE = 'svc_console_support'

/** What the browser claims; whether it has a support session there, the gateway decides. */
export function rememberedOrganization(c: PageContext): string | undefined {
  const id = readCookie(c, COOKIE)
  return id !== undefined && idPattern('org').test(id) ? id : undefined
}

export async function findSupportSession(
  call: Call,
  organizationId: string,
): Promise<SupportSession | undefined> {
  const { support_sessions } = await call(listMySupportSessions, { limit: PAGE_MAX })
  return support_sessions.find(({ organization }) => organization.id === organizationId)
}

export function rememberSupportSession(c: PageContext, { organization, expires_at }: SupportSession): void {
  const seconds = (Date.parse(expires_at) - c.var.deps.clock().getTime()) / 1000
  writeCookie(c, COOKIE, organization.id, seconds)
}

export const forgetSupportSession = (c: PageContext): void => clearCookie(c, COOKIE)
