/** An organization as the API returns it, to its members and to the operator. */
import type { organizations } from '../../../db/schema.ts'
import type { Role } from '../../contracts/roles.ts'

type Row = typeof organizations.$inferSelect

export const presentOrganization = (row: Row, role: Role, domains: readonly string[]) => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  role,
  domains: [...domains],
  agents_enabled: row.agentsEnabled,
  registered_clients: row.registeredClients,
  admins_may_invite: row.adminsMayInvite,
  timezone: row.timezone,
  support_access_enabled: row.supportAccessEnabled,
  created_at: row.createdAt.toISOString(),
})

export const presentForOperator = (row: Row, domains: readonly string[]) => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  domains: [...domains],
  created_at: row.createdAt.toISOString(),
})
