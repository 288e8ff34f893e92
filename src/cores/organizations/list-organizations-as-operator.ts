import { asc } from '../../../db/drizzle.ts'
import { organizations } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf } from '../../contracts/paging.ts'
import type { Storage } from '../dependencies.ts'
import { presentForOperator } from './present-organization.ts'
import { afterName, nameKey } from './order-by-name.ts'
import { listDomainsByOrganization } from './organization-domains.ts'

export const listOrganizationsAsOperator =
  ({ db }: Storage): Handler<'listOrganizationsAsOperator'> =>
  async (_principal, { limit, cursor }) => {
    const rows = await db
      .select()
      .from(organizations)
      .where(afterName(cursor))
      .orderBy(asc(organizations.name), asc(organizations.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, nameKey)
    const domains = await listDomainsByOrganization(
      db,
      page.rows.map((row) => row.id),
    )
    return {
      organizations: page.rows.map((row) => presentForOperator(row, domains.get(row.id) ?? [])),
      next_cursor: page.next_cursor,
    }
  }
