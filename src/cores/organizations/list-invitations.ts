import { and, asc, eq, gt, isNull } from '../../../db/drizzle.ts'
import { invitations, memberships, users } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { presentInvitation } from './present-invitation.ts'

export const listInvitations =
  ({ db, clock }: Storage): Handler<'listInvitations'> =>
  async (principal, { limit, cursor }) => {
    const { orgId } = requireMember(principal)
    const after = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select({ invitation: invitations, inviter: { name: users.name, role: memberships.role } })
      .from(invitations)
      .leftJoin(users, eq(users.id, invitations.invitedBy))
      .leftJoin(
        memberships,
        and(eq(memberships.orgId, invitations.orgId), eq(memberships.userId, invitations.invitedBy)),
      )
      .where(
        and(
          eq(invitations.orgId, orgId),
          isNull(invitations.acceptedAt),
          isNull(invitations.revokedAt),
          gt(invitations.expiresAt, clock()),
          after === undefined ? undefined : gt(invitations.id, after),
        ),
      )
      .orderBy(asc(invitations.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.invitation.id])
    return {
      invitations: page.rows.map((row) => presentInvitation(row.invitation, row.inviter)),
      next_cursor: page.next_cursor,
    }
  }
