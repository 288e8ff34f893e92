/** The organization somebody works in: the one last chosen while they belong to it, else the first one they joined. */
import type { Handle } from '../../../db/connect.ts'
import { asc, eq, sql } from '../../../db/drizzle.ts'
import { memberships, organizations, users } from '../../../db/schema.ts'

export async function currentMembership(
  db: Handle,
  userId: string,
  chosen: string | null | typeof users.lastOrgId = users.lastOrgId,
) {
  const [row] = await db
    .select({ org: organizations, role: memberships.role })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .innerJoin(organizations, eq(organizations.id, memberships.orgId))
    .where(eq(memberships.userId, userId))
    .orderBy(sql`${memberships.orgId} is distinct from ${chosen}`, asc(memberships.joinedAt))
    .limit(1)
  return row
}
