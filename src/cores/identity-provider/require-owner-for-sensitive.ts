import { SENSITIVE_SCOPES, type Scope } from '../../contracts/scopes.ts'
import { requireRole, type MemberPrincipal } from '../principal.ts'

/** An admin could otherwise give themselves, through a provider they run, what nobody gets by default. */
export function requireOwnerForSensitive(member: MemberPrincipal, scopes: readonly Scope[]): void {
  if (SENSITIVE_SCOPES.some((scope) => scopes.includes(scope))) {
    requireRole(member, 'owner', `Only an owner may give ${SENSITIVE_SCOPES.join(' or ')}`)
  }
}
