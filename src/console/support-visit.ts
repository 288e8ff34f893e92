/**
 * Support staff at work in an organization that is not theirs. A visit counts only where it is named, so the console
 * remembers the organization in a cookie and names it in every call, until the visit ends.
 */
import type { Context } from 'hono'
import type * as z from 'zod'
import type { Call } from '../client/call.ts'
import { idPattern } from '../contracts/ids.ts'
import { PAGE_MAX } from '../contracts/limits.ts'
import { listMyVisits } from '../contracts/support.ts'
import { clearCookie, readCookie, writeCookie } from './cookies.ts'
import type { ConsoleEnv } from './visit.ts'

type C = Context<ConsoleEnv>
export type SupportVisit = z.output<typeof listMyVisits.output>['visits'][number]

const VISITED = 'svc_console_visited'

/** The organization this browser says it visits; what that is worth, the gateway says. */
export function visitedOrganization(c: C): string | undefined {
  const visited = readCookie(c, VISITED)
  return visited !== undefined && idPattern('org').test(visited) ? visited : undefined
}

export async function supportVisitTo(call: Call, organization: string): Promise<SupportVisit | undefined> {
  const { visits } = await call(listMyVisits, { limit: PAGE_MAX })
  return visits.find((visit) => visit.organization.id === organization)
}

export function rememberVisit(c: C, { organization, expires_at }: SupportVisit): void {
  const seconds = (Date.parse(expires_at) - c.var.needs.clock().getTime()) / 1000
  writeCookie(c, VISITED, organization.id, seconds)
}

export const forgetVisit = (c: C): void => clearCookie(c, VISITED)
