/** Lists the members of an organization, by name. */
import { and, asc, eq, gt, ilike, or } from '../../../db/drizzle.ts'
import { memberships, users } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { likePattern } from '../like-pattern.ts'
import { MEMBER_COLUMNS, presentMember } from './present-member.ts'

export const listMembers =
  ({ db }: Storage): Handler<'listMembers'> =>
  async (principal, { role, search, limit, cursor, count }) => {
    const { orgId } = requireMember(principal)
    const [name, id] = readCursor(cursor, 2) ?? []
    const matching = and(
      eq(memberships.orgId, orgId),
      role && eq(memberships.role, role),
      search
        ? or(ilike(users.name, likePattern(search)), ilike(users.email, likePattern(search)))
        : undefined,
    )
    const rows = await db
      .select(MEMBER_COLUMNS)
      .from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId))
      .where(
        and(
          matching,
          name !== undefined && id !== undefined
            ? or(gt(users.name, name), and(eq(users.name, name), gt(users.id, id)))
            : undefined,
        ),
      )
      .orderBy(asc(users.name), asc(users.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.name, row.userId])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(memberships).innerJoin(users, eq(users.id, memberships.userId)).where(matching),
    )
    return { members: page.rows.map(presentMember), next_cursor: page.next_cursor, ...counted }
  }
