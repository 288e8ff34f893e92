/** What a verb may ask of its caller. */
import { ServiceError } from '../contracts/errors.ts'
import type { Caller } from '../contracts/operation.ts'
import { atLeast, type Role } from '../contracts/roles.ts'

/** A caller inside an organization: the door checked it, the type now says it. */
export type MemberCaller = Caller & { userId: string; orgId: string; role: Role }

export function asMember(caller: Caller): MemberCaller {
  const { userId, orgId, role } = caller
  if (userId === null || orgId === null || role === null) throw new ServiceError('NOT_FOUND')
  return { ...caller, userId, orgId, role }
}

export function personOf(caller: Caller): string {
  if (caller.userId === null) throw new ServiceError('UNAUTHENTICATED')
  return caller.userId
}

export function requireRole(caller: MemberCaller, minimum: Role, message?: string): void {
  if (!atLeast(caller.role, minimum)) throw new ServiceError('FORBIDDEN', message)
}
