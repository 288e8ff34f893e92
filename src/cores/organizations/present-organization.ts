/** An organization as the API returns it, to its members and to the operator. */
import { sql } from '../../../db/drizzle.ts'
import {
  memberships,
  organizationDomains,
  organizationIdentityProviders,
  organizations,
} from '../../../db/schema.ts'
import type { IdentityProviderUse } from '../../contracts/identity-provider-states.ts'
import type { Role } from '../../contracts/roles.ts'

type Row = typeof organizations.$inferSelect

/**
 * In the statement that reads an organization: every page of the console asks for it. The table is written out, because
 * Drizzle leaves it away in a statement without a join, and then it would be the provider's id.
 */
export const PROVIDER_USE = sql<IdentityProviderUse>`coalesce((
  select case when p.is_required then 'required' when p.state = 'on' then 'on' end
  from ${organizationIdentityProviders} p where p.org_id = organizations.id), 'none')`

const DOMAINS = sql<string[]>`coalesce((select json_agg(d.domain order by d.domain)
  from ${organizationDomains} d where d.org_id = ${organizations.id}), '[]')`

/** What is selected of an organization that is joined to the membership of whoever asks. */
export const OWN_ORGANIZATION = {
  org: organizations,
  role: memberships.role,
  domains: DOMAINS,
  providerUse: PROVIDER_USE,
}

export const presentOwnOrganization = ({
  org,
  role,
  domains,
  providerUse,
}: {
  readonly org: Row
  readonly role: Role
  readonly domains: readonly string[]
  readonly providerUse: IdentityProviderUse
}) => presentOrganization(org, role, { domains, providerUse })

export const presentOrganization = (
  row: Row,
  role: Role,
  { domains, providerUse }: { domains: readonly string[]; providerUse: IdentityProviderUse },
) => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  role,
  domains: [...domains],
  agents_enabled: row.agentsEnabled,
  registered_clients: row.registeredClients,
  identity_provider: providerUse,
  admins_may_invite: row.adminsMayInvite,
  timezone: row.timezone,
  support_access_enabled: row.supportAccessEnabled,
  narrow_unused_after_days: row.narrowUnusedAfterDays,
  end_unused_after_days: row.endUnusedAfterDays,
  created_at: row.createdAt.toISOString(),
})

export const presentForOperator = (row: Row, domains: readonly string[]) => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  domains: [...domains],
  created_at: row.createdAt.toISOString(),
})
