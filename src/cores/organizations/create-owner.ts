/** The operator names an owner by email address. */
import { and, asc, eq, exists, isNotNull, or, sql } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { formerMembers, identities, memberships, passwords, users } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Clock } from '../dependencies.ts'
import { recordWidening } from '../right-versions.ts'
import { wasRemoved } from './join-by-domain.ts'
import {
  insertInvitation,
  sendInvitation,
  type InvitationDeps,
  type NewInvitation,
} from './send-invitation.ts'
import { throttleInvitationMail } from './throttle-invitation.ts'

type Owner = {
  /** Null: the address belongs to an account that has not verified it. That account decides by the invitation. */
  user: typeof users.$inferSelect | null
  email: string
  invitation: NewInvitation | undefined
}

/**
 * Only a verified address counts as "an existing user with that email": an unverified one could have been
 * claimed by anybody, and would be handed an organization. Nor does an account that an organization's identity provider
 * made, because its person cannot sign in with it. A new account waits for its person behind an invitation; where
 * an account claims the address, none is added to it.
 */
export async function createOwner(
  tx: Transaction,
  deps: InvitationDeps,
  { orgId, email, name }: { orgId: string; email: string; name?: string | undefined },
): Promise<Owner> {
  const known = await findVerifiedUser(tx, email)
  if (known) {
    await insertOwner(tx, deps.clock, orgId, { userId: known.id, email })
    return { user: known, email, invitation: undefined }
  }
  await throttleInvitationMail({ ...deps, db: tx }, orgId, email)
  const waiting = (await isClaimed(tx, email)) ? null : await insertWaitingUser(tx, deps.clock, email, name)
  if (waiting) await insertOwner(tx, deps.clock, orgId, { userId: waiting.id, email })
  const invitation = await insertInvitation(tx, deps, {
    orgId,
    email,
    role: 'owner',
    invitedBy: null,
    ...(waiting && { waitingUserId: waiting.id }),
  })
  return { user: waiting, email, invitation }
}

/** After the commit: mails the invitation, and says what the operator is told. */
export async function presentOwner(
  deps: InvitationDeps,
  { user, email, invitation }: Owner,
  organization: string,
) {
  const url = invitation && (await sendInvitation(deps, invitation, organization, null))
  return {
    id: user?.id ?? null,
    email,
    name: user?.name ?? email,
    role: 'owner' as const,
    created: user !== null && invitation !== undefined,
    invitation_url: url ?? undefined,
  }
}

async function insertOwner(
  tx: Transaction,
  clock: Clock,
  orgId: string,
  { userId, email }: { readonly userId: string; readonly email: string },
): Promise<void> {
  const [owner] = await tx
    .insert(memberships)
    .values({ orgId, userId, role: 'owner', joinedBy: 'operator', joinedAt: clock() })
    .onConflictDoUpdate({ target: [memberships.orgId, memberships.userId], set: { role: 'owner' } })
    .returning({ id: memberships.id })
  await recordWidening(tx, 'role', { id: owner!.id, orgId })
  await tx.delete(formerMembers).where(and(eq(formerMembers.orgId, orgId), wasRemoved(userId, email)))
}

async function findVerifiedUser(tx: Transaction, email: string) {
  const [user] = await tx
    .select()
    .from(users)
    .where(and(eq(users.email, email), isNotNull(users.emailVerifiedAt), canSignIn(tx)))
    .orderBy(asc(users.id))
    .limit(1)
  return user
}

async function isClaimed(tx: Transaction, email: string): Promise<boolean> {
  const [claimed] = await tx
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.email, email), canSignIn(tx)))
    .limit(1)
  return claimed !== undefined
}

/** An account that waits for its person, or that an identity provider made, has neither a password nor a provider. */
export const canSignIn = (tx: Transaction) =>
  or(
    exists(
      tx
        .select({ one: sql`1` })
        .from(passwords)
        .where(eq(passwords.userId, users.id)),
    ),
    exists(
      tx
        .select({ one: sql`1` })
        .from(identities)
        .where(eq(identities.userId, users.id)),
    ),
  )

async function insertWaitingUser(tx: Transaction, clock: Clock, email: string, name: string | undefined) {
  const now = clock()
  const [user] = await tx
    .insert(users)
    .values({ id: makeId('usr', now.getTime()), email, name: name ?? email, createdAt: now })
    .returning()
  return user!
}
