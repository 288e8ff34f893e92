/** Owners invite; so do admins, up to admin, where the organization allows it. */
import { and, eq, isNotNull } from '../../../db/drizzle.ts'
import { invitations, memberships, organizations, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import type { MemberPrincipal } from '../principal.ts'
import type { Transaction } from '../../../db/connect.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { lockInvitationsTo, refuseOwnersInvitation } from './owner-invitations.ts'
import { presentInvitation } from './present-invitation.ts'
import { insertInvitation, sendInvitation, type InvitationDeps } from './send-invitation.ts'
import { throttleInvitation } from './throttle-invitation.ts'

export const inviteMember: Verb<'inviteMember', InvitationDeps> = writeInSteps(
  { author: 'admin', audit: 'invitation.created' },
  async (context, { email, role }) => {
    const { clock, orgId, userId, transaction } = context
    const { invitation, org, member } = await transaction(async ({ tx, member, audit }) => {
      const [row] = await tx.select().from(organizations).where(eq(organizations.id, orgId))
      if (!row) throw notFound()
      requireMayInvite(member, role, row.adminsMayInvite)
      await refuseMember(tx, orgId, email)
      await lockInvitationsTo(tx, orgId, email)
      await refuseOwnersInvitation(tx, clock, member, eq(invitations.email, email))
      await throttleInvitation({ ...context, db: tx }, { userId, orgId, email })
      const { tokenId, expiresAt } = member
      const endsBy = tokenId === undefined ? null : expiresAt
      const by = { invitedBy: userId, madeWithTokenId: tokenId, endsBy }
      const invitation = await insertInvitation(tx, context, { orgId, email, role, ...by })
      await audit('invitation.created', `${email} as ${role}`)
      return { invitation, org: row, member }
    })
    const url = await sendInvitation(context, invitation, org.name, member.userName)
    return {
      ...presentInvitation(invitation.row, { name: member.userName, role: member.role }),
      invitation_url: url ?? undefined,
    }
  },
)

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
