/** What an owner, or the operator, has offered is not for an admin to replace or revoke. */
import { and, eq, gt, isNull, or, sql } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { invitations, memberships } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { Clock } from '../dependencies.ts'
import type { MemberPrincipal } from '../principal.ts'

/** One at a time for an address: otherwise an admin could replace what an owner is just offering. */
export async function lockInvitationsTo(tx: Transaction, orgId: string, email: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`invitation ${orgId} ${email}`}, 0))`)
}

/** An inviter who is no owner any more has no open invitations: they ended with the role. */
export async function refuseOwnersInvitation(
  tx: Transaction,
  clock: Clock,
  member: MemberPrincipal,
  which: ReturnType<typeof eq>,
): Promise<void> {
  if (atLeast(member.role, 'owner')) return
  const [owners] = await tx
    .select({ id: invitations.id })
    .from(invitations)
    .leftJoin(
      memberships,
      and(eq(memberships.orgId, invitations.orgId), eq(memberships.userId, invitations.invitedBy)),
    )
    .where(
      and(
        eq(invitations.orgId, member.orgId),
        which,
        isNull(invitations.acceptedAt),
        isNull(invitations.revokedAt),
        gt(invitations.expiresAt, clock()),
        or(isNull(invitations.invitedBy), eq(memberships.role, 'owner')),
      ),
    )
    .limit(1)
  if (owners) throw new ServiceError('FORBIDDEN', 'An owner made this invitation; ask an owner to change it')
}
