/** Deletes invitations that expired or were accepted long ago. */
import { lt, or } from '../../../db/drizzle.ts'
import { invitations } from '../../../db/schema.ts'
import type { Storage } from '../dependencies.ts'

/** They stay for whoever investigates an incident. */
const INVITATION_KEPT_MS = 30 * 24 * 60 * 60 * 1000

export async function sweepInvitations({ db, clock }: Storage): Promise<void> {
  const longAgo = new Date(clock().getTime() - INVITATION_KEPT_MS)
  await db
    .delete(invitations)
    .where(or(lt(invitations.expiresAt, longAgo), lt(invitations.acceptedAt, longAgo)))
}
