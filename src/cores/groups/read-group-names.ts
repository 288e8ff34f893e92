import type { Handle } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { groupMembers, groups } from '../../../db/schema.ts'
import type { MemberKey } from '../directory/index.ts'
import { preparedQuery } from '../prepared-query.ts'

/** Of the groups that somebody is in now, by the membership, or as the machine agent, that they were added with. */
export async function readGroupNames(
  db: Handle,
  { orgId, userId }: MemberKey,
  membershipId: string,
): Promise<string[]> {
  const rows = await groupNames(db).execute({ orgId, userId, membershipId })
  return rows.map(({ name }) => name)
}

const groupNames = preparedQuery((db) =>
  db
    .select({ name: groups.name })
    .from(groupMembers)
    .innerJoin(groups, and(eq(groups.orgId, groupMembers.orgId), eq(groups.id, groupMembers.groupId)))
    .where(
      and(
        eq(groupMembers.orgId, sql.placeholder('orgId')),
        eq(groupMembers.userId, sql.placeholder('userId')),
        eq(groupMembers.membershipId, sql.placeholder('membershipId')),
      ),
    )
    .prepare('group_names'),
)
