import { and, asc, eq, sql } from '../../../db/drizzle.ts'
import { memberships, organizationDomains, organizations } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf } from '../../contracts/paging.ts'
import { requireMember, requireUserId } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { presentOrganization, PROVIDER_USE } from './present-organization.ts'
import { afterName, nameKey } from './order-by-name.ts'

/** In the same statement: every page of the console asks for it. */
const DOMAINS = sql<string[]>`coalesce((select json_agg(d.domain order by d.domain)
  from ${organizationDomains} d where d.org_id = ${organizations.id}), '[]')`

export const listOrganizations =
  ({ db }: Storage): Handler<'listOrganizations'> =>
  async (principal, { limit, cursor }) => {
    const rows = await db
      .select({
        org: organizations,
        role: memberships.role,
        domains: DOMAINS,
        providerUse: PROVIDER_USE,
      })
      .from(memberships)
      .innerJoin(organizations, eq(organizations.id, memberships.orgId))
      .where(
        and(
          eq(memberships.userId, requireUserId(principal)),
          // An API token belongs to exactly one organization and sees no other.
          principal.kind === 'user' ? undefined : eq(memberships.orgId, requireMember(principal).orgId),
          afterName(cursor),
        ),
      )
      .orderBy(asc(organizations.name), asc(organizations.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => nameKey(row.org))
    return {
      organizations: page.rows.map(({ org, role, ...more }) => presentOrganization(org, role, more)),
      next_cursor: page.next_cursor,
    }
  }
