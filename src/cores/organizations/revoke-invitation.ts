import { and, eq, isNull } from '../../../db/drizzle.ts'
import { invitations } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { recordEnding } from '../record-ending.ts'
import { write, type Verb } from '../verb.ts'
import { refuseOwnersInvitation } from './owner-invitations.ts'

export const revokeInvitation: Verb<'revokeInvitation'> = write(
  { audit: 'invitation.revoked' },
  async ({ tx, clock, member, orgId, audit }, { invitation_id }) => {
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
    recordEnding(tx, 'invitation', [row])
    await audit('invitation.revoked', row.email)
    return {}
  },
)
