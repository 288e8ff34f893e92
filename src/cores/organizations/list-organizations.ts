import { and, asc, eq } from '../../../db/drizzle.ts'
import { memberships, organizations } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf } from '../../contracts/paging.ts'
import { requireMember, requireUserId } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { presentOrganization } from './present-organization.ts'
import { afterName, nameKey } from './order-by-name.ts'
import { listDomainsByOrganization } from './organization-domains.ts'

export const listOrganizations =
  ({ db }: Storage): Handler<'listOrganizations'> =>
  async (principal, { limit, cursor }) => {
    const rows = await db
      .select({ org: organizations, role: memberships.role })
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
    const domains = await listDomainsByOrganization(
      db,
      page.rows.map((row) => row.org.id),
    )
    return {
      organizations: page.rows.map(({ org, role }) =>
        presentOrganization(org, role, domains.get(org.id) ?? []),
      ),
      next_cursor: page.next_cursor,
    }
  }
