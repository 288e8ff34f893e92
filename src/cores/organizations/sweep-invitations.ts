/** Deletes invitations that expired or were accepted long ago, except those that brought somebody who is still a member. */
import { and, eq, lt, notExists, or, sql } from '../../../db/drizzle.ts'
import { invitations, memberships } from '../../../db/schema.ts'
import type { Storage } from '../dependencies.ts'

/** They stay for whoever investigates an incident. */
const INVITATION_KEPT_MS = 30 * 24 * 60 * 60 * 1000

export async function sweepInvitations({ db, clock }: Storage): Promise<void> {
  const longAgo = new Date(clock().getTime() - INVITATION_KEPT_MS)
  // Of somebody who came with an account of another address, nothing else tells the directory whose it is.
  const bringsMember = db
    .select({ one: sql`1` })
    .from(memberships)
    .where(and(eq(memberships.orgId, invitations.orgId), eq(memberships.userId, invitations.acceptedBy)))
  await db
    .delete(invitations)
    .where(
      and(
        or(lt(invitations.expiresAt, longAgo), lt(invitations.acceptedAt, longAgo)),
        notExists(bringsMember),
      ),
    )
}
