/** A person opens an invitation link and joins. */
import { and, eq, gt, isNull, notExists, sql } from '../../../db/drizzle.ts'
import type { Handle, Transaction } from '../../../db/connect.ts'
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
import type { acceptInvitation } from '../../contracts/members.ts'
import type { Handler } from '../../contracts/operation.ts'
import { atLeast } from '../../contracts/roles.ts'
import { recordAudit, type AuditBy } from '../audit/index.ts'
import { personOf } from '../caller.ts'
import type { Keys, Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { invitationHash } from './invitations.ts'

type Found = { invitation: typeof invitations.$inferSelect; org: typeof organizations.$inferSelect }

export const joinByInvitation =
  (needs: Storage & Keys): Handler<typeof acceptInvitation> =>
  (caller, { token }) =>
    withTransaction(needs.db, (tx) => acceptAs(tx, needs, { ...caller, userId: personOf(caller) }, token))

/** Unknown, used, taken back and expired links answer alike. */
export async function findInvitation(needs: Storage & Keys, secret: string): Promise<Found | undefined> {
  return readInvitation(needs.db, needs, secret)
}

async function readInvitation(db: Handle, needs: Storage & Keys, secret: string): Promise<Found | undefined> {
  const [found] = await db
    .select({ invitation: invitations, org: organizations })
    .from(invitations)
    .innerJoin(organizations, eq(organizations.id, invitations.orgId))
    .where(
      and(
        eq(invitations.secretHash, invitationHash(needs, secret)),
        isNull(invitations.acceptedAt),
        isNull(invitations.revokedAt),
        gt(invitations.expiresAt, needs.clock()),
      ),
    )
  return found
}

export async function acceptAs(
  tx: Transaction,
  needs: Storage & Keys,
  by: AuditBy & { userId: string },
  secret: string,
) {
  const found = await readInvitation(tx, needs, secret)
  if (!found) throw notFound()
  const { invitation, org } = found
  await markAccepted(tx, needs, invitation, by.userId)
  const role = await join(tx, needs, invitation, by.userId)
  await proveAddress(tx, needs, invitation, by.userId)
  await dissolveWaitingAccount(tx, invitation, by.userId)
  const subject = `${invitation.email} as ${invitation.role}`
  await recordAudit(tx, needs.clock, by, { orgId: org.id, action: 'invitation.accepted', subject })
  return { id: org.id, name: org.name, slug: org.slug, role }
}

/** Conditional, so that a link opened twice at the same moment lets one person in. */
async function markAccepted(
  tx: Transaction,
  needs: Storage,
  invitation: Found['invitation'],
  userId: string,
) {
  const [row] = await tx
    .update(invitations)
    .set({ acceptedAt: needs.clock(), acceptedBy: userId })
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

/** A member who is invited again may rise by it, never fall. */
async function join(tx: Transaction, needs: Storage, { orgId, role }: Found['invitation'], userId: string) {
  const where = and(eq(memberships.orgId, orgId), eq(memberships.userId, userId))
  const [present] = await tx.select({ role: memberships.role }).from(memberships).where(where).for('update')
  if (present && atLeast(present.role, role)) return present.role
  await tx
    .insert(memberships)
    .values({ orgId, userId, role, joinedBy: 'invitation', joinedAt: needs.clock() })
    .onConflictDoUpdate({ target: [memberships.orgId, memberships.userId], set: { role } })
  await tx.delete(formerMembers).where(and(eq(formerMembers.orgId, orgId), eq(formerMembers.userId, userId)))
  return role
}

async function proveAddress(
  tx: Transaction,
  needs: Storage,
  invitation: Found['invitation'],
  userId: string,
) {
  if (!invitation.sentByMail) return
  await tx
    .update(users)
    .set({ emailVerifiedAt: needs.clock() })
    .where(and(eq(users.id, userId), eq(users.email, invitation.email), isNull(users.emailVerifiedAt)))
}

/** The person came with another account: the one that waited for them is not needed any more. */
async function dissolveWaitingAccount(
  tx: Transaction,
  { waitingUserId }: Found['invitation'],
  userId: string,
) {
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
