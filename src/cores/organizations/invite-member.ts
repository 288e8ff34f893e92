/** Owners bring people in; admins too where the organization lets them, up to admin. */
import { and, asc, eq, gt, isNotNull, isNull } from '../../../db/drizzle.ts'
import { invitations, memberships, organizations, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { inviteMember, listInvitations, revokeInvitation } from '../../contracts/members.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember, type MemberCaller } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import type { Transaction } from '../../../db/connect.ts'
import { handOverInvitation, insertInvitation, type InvitationNeeds } from './invitations.ts'

type Row = typeof invitations.$inferSelect

const presentInvitation = (row: Row, inviter: string | null) => ({
  id: row.id,
  email: row.email,
  role: row.role,
  invited_by: inviter,
  created_at: row.createdAt.toISOString(),
  expires_at: row.expiresAt.toISOString(),
})

export const invite =
  (needs: InvitationNeeds): Handler<typeof inviteMember> =>
  async (who, { email, role }) => {
    const caller = asMember(who)
    const { orgId } = caller
    const { made, org } = await withTransaction(needs.db, async (tx) => {
      const [row] = await tx.select().from(organizations).where(eq(organizations.id, orgId))
      if (!row) throw notFound()
      mayInvite(caller, role, row.adminsMayInvite)
      await refuseMember(tx, orgId, email)
      const made = await insertInvitation(tx, needs, { orgId, email, role, invitedBy: caller.userId })
      const subject = `${email} as ${role}`
      await recordAudit(tx, needs.clock, caller, { orgId, action: 'invitation.created', subject })
      return { made, org: row }
    })
    const url = await handOverInvitation(needs, made, org.name, caller.userName)
    return { ...presentInvitation(made.row, caller.userName), invitation_url: url ?? undefined }
  }

function mayInvite(caller: MemberCaller, role: Role, adminsMayInvite: boolean): void {
  if (!atLeast(caller.role, role)) throw new ServiceError('FORBIDDEN', 'Nobody grants a role above their own')
  if (caller.role === 'owner' || adminsMayInvite) return
  throw new ServiceError('FORBIDDEN', 'Only owners invite here', {
    hint: 'An owner can let admins invite under Settings, Organization.',
  })
}

/** Only a verified address says that this person is already here. */
async function refuseMember(tx: Transaction, orgId: string, email: string): Promise<void> {
  const [member] = await tx
    .select({ id: users.id })
    .from(users)
    .innerJoin(memberships, and(eq(memberships.orgId, orgId), eq(memberships.userId, users.id)))
    .where(and(eq(users.email, email), isNotNull(users.emailVerifiedAt)))
  if (member) throw new ServiceError('CONFLICT', 'This person is a member already')
}

export const openInvitations =
  ({ db, clock }: Storage): Handler<typeof listInvitations> =>
  async (caller, { limit, cursor }) => {
    const { orgId } = asMember(caller)
    const after = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select({ invitation: invitations, inviter: users.name })
      .from(invitations)
      .leftJoin(users, eq(users.id, invitations.invitedBy))
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

export const takeBackInvitation =
  ({ db, clock }: Storage): Handler<typeof revokeInvitation> =>
  (who, { invitation_id }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId } = caller
      const [row] = await tx
        .update(invitations)
        .set({ revokedAt: clock() })
        .where(
          and(
            eq(invitations.orgId, orgId),
            eq(invitations.id, invitation_id),
            isNull(invitations.acceptedAt),
            isNull(invitations.revokedAt),
          ),
        )
        .returning()
      if (!row) throw notFound()
      await recordAudit(tx, clock, caller, { orgId, action: 'invitation.revoked', subject: row.email })
      return {}
    })
