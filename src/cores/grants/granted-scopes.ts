/** The scopes that a grant has: what was approved, less what has come to open more than the approved text said. */
import type { platformAccessGrants } from '../../../db/schema.ts'
import { approvedScopes, type Scope } from '../../contracts/scopes.ts'

type Approval = Pick<typeof platformAccessGrants.$inferSelect, 'scopes' | 'scopeEdition'>

export const grantedScopes = ({ scopes, scopeEdition }: Approval): Scope[] =>
  approvedScopes(scopes, scopeEdition)

/** The authorization server's own record of the grant: the next refresh must not bring other scopes back. */
export function payloadWithScopes(
  payload: Record<string, unknown>,
  scopes: readonly Scope[],
): Record<string, unknown> {
  const resources = Object.keys(payload.resources ?? {})
  return { ...payload, resources: Object.fromEntries(resources.map((name) => [name, scopes.join(' ')])) }
}
