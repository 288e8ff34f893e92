import { and, eq, gt, isNull } from '../../../db/drizzle.ts'
import { invitations, memberships, users } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'
import { presentInvitation } from './present-invitation.ts'

export const listInvitations: Verb<'listInvitations'> = list(
  { rows: 'invitations', asc: [invitations.id] },
  async ({ db, clock, orgId, page }) =>
    page({
      from: () =>
        db
          .select({ invitation: invitations, inviter: { name: users.name, role: memberships.role } })
          .from(invitations)
          .leftJoin(users, eq(users.id, invitations.invitedBy))
          .leftJoin(
            memberships,
            and(eq(memberships.orgId, invitations.orgId), eq(memberships.userId, invitations.invitedBy)),
          ),
      where: and(
        eq(invitations.orgId, orgId),
        isNull(invitations.acceptedAt),
        isNull(invitations.revokedAt),
        gt(invitations.expiresAt, clock()),
      ),
      key: (row) => [row.invitation.id],
      present: (rows) => rows.map((row) => presentInvitation(row.invitation, row.inviter)),
    }),
)
