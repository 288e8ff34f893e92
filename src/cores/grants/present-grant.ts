/** A grant as the API returns it. */
import { platformAccessGrants, users } from '../../../db/schema.ts'
import { grantedScopes } from './granted-scopes.ts'
import { presentGrantedSources, type KnownSource } from './granted-sources.ts'

type Row = {
  grant: typeof platformAccessGrants.$inferSelect
  user: { id: string; email: string; name: string }
}

export const GRANT_COLUMNS = {
  grant: platformAccessGrants,
  user: { id: users.id, email: users.email, name: users.name },
}

export const presentGrant = ({ grant, user }: Row, known: readonly KnownSource[]) => ({
  id: grant.id,
  client_id: grant.clientId,
  client_kind: grant.clientKind,
  client_name: grant.clientName,
  host: grant.clientKind === 'metadata_document' ? new URL(grant.clientId).host : grant.redirectHost,
  // What stands in the row of a machine agent is nobody's address.
  user: grant.via === 'machine' ? { ...user, email: null } : user,
  via: grant.via,
  machine_agent_id: grant.machineAgentId,
  resource: grant.resource,
  scopes: grantedScopes(grant),
  sources: presentGrantedSources(grant.sources, known),
  created_at: grant.createdAt.toISOString(),
  last_used_at: grant.lastUsedAt?.toISOString() ?? null,
  expires_at: grant.expiresAt.toISOString(),
})
