/** Joins an organization by an invitation link. */
import { and, eq, gt, isNull, notExists, sql } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import {
  formerMembers,
  identities,
  invitations,
  memberships,
  organizations,
  passwords,
  users,
} from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { atLeast } from '../../contracts/roles.ts'
import { currentMembership } from './current-membership.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import { proveEmail } from '../email-addresses/index.ts'
import type { Keys, Storage } from '../dependencies.ts'
import { recordWidening } from '../right-versions.ts'
import { write, type Verb } from '../verb.ts'
import { endLinksAboveMakers, endUnprovenLinks } from './end-links.ts'
import { wasRemoved } from './join-by-domain.ts'
import { recordJoinedAnother } from './record-joined-another.ts'
import { invitationHash } from './send-invitation.ts'

type Found = { invitation: typeof invitations.$inferSelect; org: typeof organizations.$inferSelect }

export const acceptInvitation: Verb<'acceptInvitation', Keys> = write(
  {
    by: 'person',
    audit: ['invitation.accepted', 'identity_link.removed', 'member.joined_another', 'profile.email_lost'],
  },
  async (context, { token }) => {
    const { tx, principal, userId } = context
    return acceptInvitationAs(tx, context, { ...principal, userId }, token)
  },
)

/** Unknown, used, revoked and expired links answer alike. */
export async function findInvitation(deps: Storage & Keys, secret: string): Promise<Found | undefined> {
  const [found] = await deps.db
    .select({ invitation: invitations, org: organizations })
    .from(invitations)
    .innerJoin(organizations, eq(organizations.id, invitations.orgId))
    .where(
      and(
        eq(invitations.secretHash, invitationHash(deps, secret)),
        isNull(invitations.acceptedAt),
        isNull(invitations.revokedAt),
        gt(invitations.expiresAt, deps.clock()),
      ),
    )
  return found
}

export async function acceptInvitationAs(
  tx: Transaction,
  deps: Storage & Keys,
  actor: AuditActor & { userId: string },
  secret: string,
) {
  const found = await findInvitation({ ...deps, db: tx }, secret)
  if (!found) throw notFound()
  const { invitation, org } = found
  await lockInviter(tx, found)
  await markAccepted(tx, deps, invitation, actor.userId)
  const elsewhere = await currentMembership(tx, actor.userId)
  const { role, isNew } = await join(tx, deps, invitation, actor.userId)
  if (role === 'owner') await endUnprovenLinks(tx, deps.clock, actor, { orgId: org.id, userId: actor.userId })
  else await endLinksAboveMakers(tx, deps.clock, actor, { orgId: org.id, userIds: [actor.userId] })
  await forgetRemoval(tx, invitation, actor.userId)
  // Only the link we mailed shows that whoever opens it reads that mailbox.
  if (invitation.sentByMail) await proveEmail(tx, deps.clock, actor.userId, invitation.email)
  await deleteWaitingUser(tx, invitation, actor.userId)
  const subject = `${invitation.email} as ${invitation.role}`
  await recordAudit(tx, deps.clock, actor, { orgId: org.id, action: 'invitation.accepted', subject })
  if (isNew) await recordJoinedAnother(tx, deps.clock, actor, elsewhere, org.name)
  return { id: org.id, name: org.name, slug: org.slug, role }
}

/**
 * Before the invitation itself, in the order of a removal: whoever is being removed or lowered at this moment cannot
 * bring somebody in. One that the operator made has nobody behind it.
 */
async function lockInviter(tx: Transaction, { invitation, org }: Found) {
  const { orgId, invitedBy, role } = invitation
  if (invitedBy === null) return
  const [inviter] = await tx
    .select({ role: memberships.role })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, invitedBy)))
    .for('share')
  if (!inviter || !atLeast(inviter.role, role)) throw notFound()
  // An owner took it from the admins meanwhile.
  if (inviter.role !== 'owner' && !org.adminsMayInvite) throw notFound()
}

/** Conditional, so that a link opened twice at the same moment admits one person. */
async function markAccepted(tx: Transaction, deps: Storage, invitation: Found['invitation'], userId: string) {
  const [row] = await tx
    .update(invitations)
    .set({ acceptedAt: deps.clock(), acceptedBy: userId })
    .where(
      and(
        eq(invitations.orgId, invitation.orgId),
        eq(invitations.id, invitation.id),
        isNull(invitations.acceptedAt),
        isNull(invitations.revokedAt),
      ),
    )
    .returning({ id: invitations.id })
  if (!row) throw notFound()
}

/** An invitation can raise the role of somebody who is already a member, never lower it. */
async function join(tx: Transaction, deps: Storage, { orgId, role }: Found['invitation'], userId: string) {
  const where = and(eq(memberships.orgId, orgId), eq(memberships.userId, userId))
  const [current] = await tx.select({ role: memberships.role }).from(memberships).where(where).for('update')
  if (current && atLeast(current.role, role)) return { role: current.role, isNew: false }
  const [joined] = await tx
    .insert(memberships)
    .values({ orgId, userId, role, joinedBy: 'invitation', joinedAt: deps.clock() })
    .onConflictDoUpdate({ target: [memberships.orgId, memberships.userId], set: { role } })
    .returning({ id: memberships.id })
  if (current) await recordWidening(tx, 'role', { id: joined!.id, orgId })
  return { role, isNew: current === undefined }
}

/** Invited again by hand: the address may come in by its domain again, too. */
async function forgetRemoval(tx: Transaction, { orgId, email }: Found['invitation'], userId: string) {
  await tx.delete(formerMembers).where(and(eq(formerMembers.orgId, orgId), wasRemoved(userId, email)))
}

/** The person joined with another account: the one created for them is no longer needed. */
async function deleteWaitingUser(tx: Transaction, { waitingUserId }: Found['invitation'], userId: string) {
  if (waitingUserId === null || waitingUserId === userId) return
  await tx.delete(users).where(
    and(
      eq(users.id, waitingUserId),
      notExists(
        tx
          .select({ one: sql`1` })
          .from(passwords)
          .where(eq(passwords.userId, waitingUserId)),
      ),
      notExists(
        tx
          .select({ one: sql`1` })
          .from(identities)
          .where(eq(identities.userId, waitingUserId)),
      ),
    ),
  )
}
