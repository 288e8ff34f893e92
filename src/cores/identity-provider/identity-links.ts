/** Links of subjects to members, as the API returns them. */
import { identityLinks, users } from '../../../db/schema.ts'

export const LINK_COLUMNS = {
  link: identityLinks,
  user: { id: users.id, email: users.email, name: users.name },
}

type Row = {
  readonly link: typeof identityLinks.$inferSelect
  readonly user: { readonly id: string; readonly email: string; readonly name: string }
}

export const presentLink = ({ link, user }: Row) => ({
  id: link.id,
  subject: link.subject,
  user,
  linked_by: link.linkedBy,
  created_at: link.createdAt.toISOString(),
  last_used_at: link.lastUsedAt?.toISOString() ?? null,
})
