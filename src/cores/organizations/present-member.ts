/** A member as the API returns it. */
import { memberships, users } from '../../../db/schema.ts'

export const MEMBER_COLUMNS = {
  membershipId: memberships.id,
  userId: memberships.userId,
  role: memberships.role,
  joinedAt: memberships.joinedAt,
  joinedBy: memberships.joinedBy,
  email: users.email,
  name: users.name,
}

type Row = Pick<typeof memberships.$inferSelect, 'userId' | 'role' | 'joinedAt' | 'joinedBy'> &
  Pick<typeof users.$inferSelect, 'email' | 'name'>

export const presentMember = (row: Row) => ({
  user_id: row.userId,
  email: row.email,
  name: row.name,
  role: row.role,
  joined_at: row.joinedAt.toISOString(),
  joined_by: row.joinedBy,
})
