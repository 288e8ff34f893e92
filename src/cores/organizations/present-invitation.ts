/** An invitation as the API returns it, without its link. */
import type { invitations } from '../../../db/schema.ts'
import type { Role } from '../../contracts/roles.ts'

export const presentInvitation = (
  row: typeof invitations.$inferSelect,
  inviter: { name: string | null; role: Role | null },
) => ({
  id: row.id,
  email: row.email,
  role: row.role,
  invited_by: inviter.name,
  by_owner: row.invitedBy === null || inviter.role === 'owner',
  created_at: row.createdAt.toISOString(),
  expires_at: row.expiresAt.toISOString(),
})
