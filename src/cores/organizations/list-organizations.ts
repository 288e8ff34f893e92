import type { Handle } from '../../../db/connect.ts'
import { and, asc, eq, sql } from '../../../db/drizzle.ts'
import { memberships, organizations } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'
import { preparedQuery } from '../prepared-query.ts'
import { requireMember } from '../principal.ts'
import { OWN_ORGANIZATION, presentOwnOrganization } from './present-organization.ts'

const select = (db: Handle) =>
  db
    .select(OWN_ORGANIZATION)
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.orgId))

const ORDER = [organizations.name, organizations.id] as const

/** The first page of a person's, which is what every page of the console asks for. */
const firstOf = preparedQuery((db) =>
  select(db)
    .where(eq(memberships.userId, sql.placeholder('userId')))
    .orderBy(...ORDER.map((column) => asc(column)))
    .limit(sql.placeholder('limit'))
    .prepare('organizations_of'),
)

export const listOrganizations: Verb<'listOrganizations'> = list(
  { by: 'person', rows: 'organizations', asc: ORDER },
  async ({ db, userId, principal, page }, { cursor, limit }) => {
    type Row = Awaited<ReturnType<typeof select>>[number]
    const shown = {
      key: ({ org }: Row) => [org.name, org.id],
      present: (rows: readonly Row[]) => rows.map(presentOwnOrganization),
    }
    if (principal.kind === 'user' && cursor === undefined)
      return page({ ...shown, rows: () => firstOf(db).execute({ userId, limit: limit + 1 }) })
    return page({
      ...shown,
      from: () => select(db),
      where: and(
        eq(memberships.userId, userId),
        // An API token, or a login of the client, belongs to exactly one organization and sees no other.
        principal.kind === 'user' ? undefined : eq(memberships.orgId, requireMember(principal).orgId),
      ),
    })
  },
)
