/** Lists the members of an organization, by name. */
import { and, asc, eq, gt, ilike, or } from '../../../db/drizzle.ts'
import { memberships, users } from '../../../db/schema.ts'
import type { listMembers } from '../../contracts/members.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { asMember } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { containing } from '../search-text.ts'
import { MEMBER_COLUMNS, presentMember } from './present-member.ts'

export const membersOf =
  ({ db }: Storage): Handler<typeof listMembers> =>
  async (caller, { role, search, limit, cursor }) => {
    const { orgId } = asMember(caller)
    const [name, id] = readCursor(cursor, 2) ?? []
    const rows = await db
      .select(MEMBER_COLUMNS)
      .from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId))
      .where(
        and(
          eq(memberships.orgId, orgId),
          role && eq(memberships.role, role),
          search
            ? or(ilike(users.name, containing(search)), ilike(users.email, containing(search)))
            : undefined,
          name !== undefined && id !== undefined
            ? or(gt(users.name, name), and(eq(users.name, name), gt(users.id, id)))
            : undefined,
        ),
      )
      .orderBy(asc(users.name), asc(users.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.name, row.userId])
    return { members: page.rows.map(presentMember), next_cursor: page.next_cursor }
  }
