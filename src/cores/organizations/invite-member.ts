/** Owners invite; so do admins, up to admin, where the organization allows it. */
import { and, eq, isNotNull } from '../../../db/drizzle.ts'
import { invitations, memberships, organizations, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import { recordAudit } from '../audit/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireMember, type MemberPrincipal } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import type { Transaction } from '../../../db/connect.ts'
import { lockInvitationsTo, refuseOwnersInvitation } from './owner-invitations.ts'
import { presentInvitation } from './present-invitation.ts'
import { insertInvitation, sendInvitation, type InvitationDeps } from './send-invitation.ts'
import { throttleInvitation } from './throttle-invitation.ts'

export const inviteMember =
  (deps: InvitationDeps): Handler<'inviteMember'> =>
  async (principal, { email, role }) => {
    const { orgId } = requireMember(principal)
    const { invitation, org, member } = await withTransaction(deps.db, async (tx) => {
      const member = await lockAuthor(tx, deps.clock, requireMember(principal), 'admin')
      const [row] = await tx.select().from(organizations).where(eq(organizations.id, orgId))
      if (!row) throw notFound()
      requireMayInvite(member, role, row.adminsMayInvite)
      await refuseMember(tx, orgId, email)
      await lockInvitationsTo(tx, orgId, email)
      await refuseOwnersInvitation(tx, deps.clock, member, eq(invitations.email, email))
      await throttleInvitation({ ...deps, db: tx }, { userId: member.userId, orgId, email })
      const { userId: invitedBy, tokenId: madeWithTokenId } = member
      const invitation = await insertInvitation(tx, deps, { orgId, email, role, invitedBy, madeWithTokenId })
      const subject = `${email} as ${role}`
      await recordAudit(tx, deps.clock, member, { orgId, action: 'invitation.created', subject })
      return { invitation, org: row, member }
    })
    const url = await sendInvitation(deps, invitation, org.name, member.userName)
    return {
      ...presentInvitation(invitation.row, { name: member.userName, role: member.role }),
      invitation_url: url ?? undefined,
    }
  }

function requireMayInvite(member: MemberPrincipal, role: Role, adminsMayInvite: boolean): void {
  if (!atLeast(member.role, role))
    throw new ServiceError('FORBIDDEN', 'You cannot grant a role above your own')
  if (member.role === 'owner' || adminsMayInvite) return
  throw new ServiceError('FORBIDDEN', 'Only owners may invite', {
    hint: 'An owner can allow admins to invite under Settings, Organization.',
  })
}

/** Only a verified address says that this person is already here. */
async function refuseMember(tx: Transaction, orgId: string, email: string): Promise<void> {
  const [existing] = await tx
    .select({ id: users.id })
    .from(users)
    .innerJoin(memberships, and(eq(memberships.orgId, orgId), eq(memberships.userId, users.id)))
    .where(and(eq(users.email, email), isNotNull(users.emailVerifiedAt)))
  if (existing) throw new ServiceError('CONFLICT', 'This person is already a member')
}
