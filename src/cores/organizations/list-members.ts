/** Lists the members of an organization, by name. */
import { and, eq } from '../../../db/drizzle.ts'
import { memberships, users } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'
import { MEMBER_COLUMNS, presentMember } from './present-member.ts'

export const listMembers: Verb<'listMembers'> = list(
  { rows: 'members', asc: [users.name, users.id], search: [users.name, users.email] },
  async ({ db, orgId, page }, { role }) =>
    page({
      from: () =>
        db.select(MEMBER_COLUMNS).from(memberships).innerJoin(users, eq(users.id, memberships.userId)),
      where: and(eq(memberships.orgId, orgId), role && eq(memberships.role, role)),
      key: (row) => [row.name, row.userId],
      present: (rows) => rows.map(presentMember),
    }),
)
