/** Who may know of what happens. */
import type { Handle } from '../../../db/connect.ts'
import { EVENTS, type EventType } from '../../contracts/events.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { Directory } from '../directory/index.ts'
import type { MemberPrincipal } from '../principal.ts'

/** Of which apps a principal may know what happens: owners and admins of all, members of those they build or maintain. */
export async function readAppAccess(
  directory: Directory,
  db: Handle,
  principal: MemberPrincipal,
): Promise<'all' | 'none' | { readonly membershipId: string }> {
  const membershipId = (await directory.readMembership(db, principal))?.appMembershipId ?? null
  if (membershipId === null) return 'none'
  return atLeast(principal.role, 'admin') ? 'all' : { membershipId }
}

/** interface.md, Events 3 (d): events of the organization itself are for owners and admins. */
export const isForAdmins = (type: string): boolean => type.startsWith('org.')

/** decisions, 11: nobody is told of their own doing; an outcome is told to whoever caused it too, and so is a test. */
export const isToldToActor = (type: string): boolean =>
  !(type in EVENTS) || EVENTS[type as EventType].toldToActor
