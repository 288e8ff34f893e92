/** Revokes open invitations. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { and, isNull } from '../../../db/drizzle.ts'
import { invitations } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { recordEnding } from '../record-ending.ts'

export async function revokeInvitations(
  tx: Transaction,
  clock: Clock,
  which: SQL | undefined,
): Promise<readonly { orgId: string }[]> {
  const revoked = await tx
    .update(invitations)
    .set({ revokedAt: clock() })
    .where(and(which, isNull(invitations.acceptedAt), isNull(invitations.revokedAt)))
    .returning({ id: invitations.id, orgId: invitations.orgId })
  recordEnding(tx, 'invitation', revoked)
  return revoked
}
