import { and, eq, sql } from '../../../db/drizzle.ts'
import { memberships, organizationDomains, organizations } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'
import { requireMember } from '../principal.ts'
import { presentOrganization, PROVIDER_USE } from './present-organization.ts'

/** In the same statement: every page of the console asks for it. */
const DOMAINS = sql<string[]>`coalesce((select json_agg(d.domain order by d.domain)
  from ${organizationDomains} d where d.org_id = ${organizations.id}), '[]')`

export const listOrganizations: Verb<'listOrganizations'> = list(
  { by: 'person', rows: 'organizations', asc: [organizations.name, organizations.id] },
  async ({ db, userId, principal, page }) =>
    page({
      from: () =>
        db
          .select({ org: organizations, role: memberships.role, domains: DOMAINS, providerUse: PROVIDER_USE })
          .from(memberships)
          .innerJoin(organizations, eq(organizations.id, memberships.orgId)),
      where: and(
        eq(memberships.userId, userId),
        // An API token, or a login of the client, belongs to exactly one organization and sees no other.
        principal.kind === 'user' ? undefined : eq(memberships.orgId, requireMember(principal).orgId),
      ),
      key: ({ org }) => [org.name, org.id],
      present: (rows) => rows.map(({ org, role, ...more }) => presentOrganization(org, role, more)),
    }),
)
