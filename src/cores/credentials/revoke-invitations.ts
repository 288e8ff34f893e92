/** Revokes open invitations. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { and, isNull } from '../../../db/drizzle.ts'
import { invitations } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'

export const revokeInvitations = (
  tx: Transaction,
  clock: Clock,
  which: SQL | undefined,
): Promise<{ orgId: string }[]> =>
  tx
    .update(invitations)
    .set({ revokedAt: clock() })
    .where(and(which, isNull(invitations.acceptedAt), isNull(invitations.revokedAt)))
    .returning({ orgId: invitations.orgId })
