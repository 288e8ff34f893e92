/** The operator gives an owner to an organization that has none who could sign in. */
import { and, eq, inArray, isNull, not } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { invitations, memberships, organizations, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Clock } from '../dependencies.ts'
import { recordEnding } from '../record-ending.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { canSignIn, createOwner, presentOwner } from './create-owner.ts'
import { endUnprovenLinks } from './end-links.ts'
import { lockOwners } from './membership-changes.ts'
import type { InvitationDeps } from './send-invitation.ts'

export const addOwnerAsOperator: Verb<'addOwnerAsOperator', InvitationDeps> = writeInSteps(
  { by: 'principal', audit: ['owner.added', 'identity_link.removed'] },
  async (context, { org_id, email }) => {
    const { clock, principal, transaction } = context
    const { org, owner } = await transaction(async ({ tx, audit }) => {
      // Locked, so that a request that is sent twice finds the owner of the first.
      const [row] = await tx.select().from(organizations).where(eq(organizations.id, org_id)).for('update')
      if (!row) throw notFound()
      await lockOwners(tx, org_id)
      await refuseOwned(tx, org_id)
      await withdrawFormerOffer(tx, clock, org_id)
      const added = await createOwner(tx, context, { orgId: org_id, email })
      if (added.user) {
        await endUnprovenLinks(tx, clock, principal, { orgId: org_id, userId: added.user.id })
      }
      await audit('owner.added', email, { orgId: org_id })
      return { org: row, owner: added }
    })
    return presentOwner(context, owner, org.name)
  },
)

async function refuseOwned(tx: Transaction, orgId: string): Promise<void> {
  const [owner] = await tx
    .select({ id: users.id })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.orgId, orgId), eq(memberships.role, 'owner'), canSignIn(tx)))
    .limit(1)
  if (owner) throw new ServiceError('CONFLICT', 'This organization has an owner, who can make others owner')
}

/** Whom the operator named before and who never came: their link ends, and the account that waited for them. */
async function withdrawFormerOffer(tx: Transaction, clock: Clock, orgId: string): Promise<void> {
  const withdrawn = await tx
    .update(invitations)
    .set({ revokedAt: clock() })
    .where(
      and(
        eq(invitations.orgId, orgId),
        eq(invitations.role, 'owner'),
        isNull(invitations.invitedBy),
        isNull(invitations.acceptedAt),
        isNull(invitations.revokedAt),
      ),
    )
    .returning({ id: invitations.id, orgId: invitations.orgId })
  recordEnding(tx, 'invitation', withdrawn)
  const named = tx
    .select({ id: memberships.userId })
    .from(memberships)
    .where(
      and(eq(memberships.orgId, orgId), eq(memberships.role, 'owner'), eq(memberships.joinedBy, 'operator')),
    )
  // One with a verified address is in use, although nobody can sign in with it: an identity provider made it.
  const isWaiting = and(isNull(users.emailVerifiedAt), not(canSignIn(tx)!))
  await tx.delete(users).where(and(inArray(users.id, named), isWaiting))
}
