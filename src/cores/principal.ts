/** What a verb may require of its principal. */
import { ServiceError } from '../contracts/errors.ts'
import type { Principal } from '../contracts/operation.ts'
import { atLeast, type Role } from '../contracts/roles.ts'

/** A principal inside an organization: authentication checked it, the type says it. */
export type MemberPrincipal = Principal & { userId: string; orgId: string; role: Role }

export function requireMember(principal: Principal): MemberPrincipal {
  const { userId, orgId, role } = principal
  if (userId === null || orgId === null || role === null) throw new ServiceError('NOT_FOUND')
  return { ...principal, userId, orgId, role }
}

export function requireUserId(principal: Principal): string {
  if (principal.userId === null) throw new ServiceError('UNAUTHENTICATED')
  return principal.userId
}

export function requireRole(principal: MemberPrincipal, minimum: Role, message?: string): void {
  if (!atLeast(principal.role, minimum)) throw new ServiceError('FORBIDDEN', message)
}

export function requireSession(principal: Principal): { sessionId: string; generation: number } {
  if (principal.sessionId !== undefined && principal.sessionGeneration !== undefined) {
    return { sessionId: principal.sessionId, generation: principal.sessionGeneration }
  }
  throw sessionRequired(principal)
}

export const sessionRequired = ({ kind }: Pick<Principal, 'kind'>) =>
  new ServiceError(
    'FORBIDDEN',
    kind === 'cli_session'
      ? 'This requires a signed-in session, not a login of the client'
      : 'This requires a signed-in session, not an API token',
    kind === 'cli_session' ? { hint: 'Do it in the console: svc open' } : {},
  )
