/** How an organization leaves the house. */
import { eq } from '../../../db/drizzle.ts'
import type { Handle } from '../../../db/connect.ts'
import { organizationDomains, type organizations } from '../../../db/schema.ts'
import type { Role } from '../../contracts/roles.ts'

type Row = typeof organizations.$inferSelect

export const presentOrganization = (row: Row, role: Role, domains: readonly string[]) => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  role,
  domains: [...domains],
  agents_enabled: row.agentsEnabled,
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

export async function domainsOf(db: Handle, orgId: string): Promise<string[]> {
  const rows = await db
    .select({ domain: organizationDomains.domain })
    .from(organizationDomains)
    .where(eq(organizationDomains.orgId, orgId))
    .orderBy(organizationDomains.domain)
  return rows.map((row) => row.domain)
}
