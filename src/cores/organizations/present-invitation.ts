/** An invitation as the API returns it, without its link. */
import type { invitations } from '../../../db/schema.ts'

export const presentInvitation = (row: typeof invitations.$inferSelect, inviter: string | null) => ({
  id: row.id,
  email: row.email,
  role: row.role,
  invited_by: inviter,
  created_at: row.createdAt.toISOString(),
  expires_at: row.expiresAt.toISOString(),
})
