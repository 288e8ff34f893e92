import { and, eq, isNull } from '../../../db/drizzle.ts'
import { invitations } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { refuseOwnersInvitation } from './owner-invitations.ts'

export const revokeInvitation =
  ({ db, clock }: Storage): Handler<'revokeInvitation'> =>
  (principal, { invitation_id }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const { orgId } = member
      await refuseOwnersInvitation(tx, clock, member, eq(invitations.id, invitation_id))
      const [row] = await tx
        .update(invitations)
        .set({ revokedAt: clock() })
        .where(
          and(
            eq(invitations.orgId, orgId),
            eq(invitations.id, invitation_id),
            isNull(invitations.acceptedAt),
            isNull(invitations.revokedAt),
          ),
        )
        .returning()
      if (!row) throw notFound()
      await recordAudit(tx, clock, principal, { orgId, action: 'invitation.revoked', subject: row.email })
      return {}
    })
