/** Lists and shows organizations: one's own for people, all of them for the operator. */
import { and, asc, eq, gt, inArray, or, sql } from '../../../db/drizzle.ts'
import type { Handle } from '../../../db/connect.ts'
import { memberships, organizationDomains, organizations } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import type {
  listOrganizations,
  listOrganizationsForAdmin,
  showOrganization,
} from '../../contracts/organizations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { asMember, personOf } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { domainsOf, presentForOperator, presentOrganization } from './present.ts'

type Row = typeof organizations.$inferSelect

const byName = (row: Row) => [row.name, row.id]

function afterName(cursor: string | undefined) {
  const [name, id] = readCursor(cursor, 2) ?? []
  if (name === undefined || id === undefined) return undefined
  return or(gt(organizations.name, name), and(eq(organizations.name, name), gt(organizations.id, id)))
}

export const myOrganizations =
  ({ db }: Storage): Handler<typeof listOrganizations> =>
  async (caller, { limit, cursor }) => {
    const rows = await db
      .select({ org: organizations, role: memberships.role })
      .from(memberships)
      .innerJoin(organizations, eq(organizations.id, memberships.orgId))
      .where(
        and(
          eq(memberships.userId, personOf(caller)),
          // An API token belongs to exactly one organization and sees no other.
          caller.kind === 'user' ? undefined : eq(memberships.orgId, asMember(caller).orgId),
          afterName(cursor),
        ),
      )
      .orderBy(asc(organizations.name), asc(organizations.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => byName(row.org))
    const domains = await domainsByOrg(
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

export const allOrganizations =
  ({ db }: Storage): Handler<typeof listOrganizationsForAdmin> =>
  async (_caller, { limit, cursor }) => {
    const rows = await db
      .select()
      .from(organizations)
      .where(afterName(cursor))
      .orderBy(asc(organizations.name), asc(organizations.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, byName)
    const domains = await domainsByOrg(
      db,
      page.rows.map((row) => row.id),
    )
    return {
      organizations: page.rows.map((row) => presentForOperator(row, domains.get(row.id) ?? [])),
      next_cursor: page.next_cursor,
    }
  }

export const oneOrganization =
  ({ db }: Storage): Handler<typeof showOrganization> =>
  async (caller) => {
    const { orgId, role } = asMember(caller)
    const [row] = await db.select().from(organizations).where(eq(organizations.id, orgId))
    if (!row) throw notFound()
    return presentOrganization(row, role, await domainsOf(db, orgId))
  }

async function domainsByOrg(db: Handle, orgIds: readonly string[]): Promise<Map<string, string[]>> {
  if (orgIds.length === 0) return new Map()
  const rows = await db
    .select({
      orgId: organizationDomains.orgId,
      domains: sql<string[]>`array_agg(${organizationDomains.domain} order by ${organizationDomains.domain})`,
    })
    .from(organizationDomains)
    .where(inArray(organizationDomains.orgId, [...orgIds]))
    .groupBy(organizationDomains.orgId)
  return new Map(rows.map((row) => [row.orgId, row.domains]))
}
