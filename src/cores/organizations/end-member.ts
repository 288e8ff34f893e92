/** Ends a membership that somebody else ends, or its own member. */
import { randomUUID } from 'node:crypto'
import type { Transaction } from '../../../db/connect.ts'
import type { Clock } from '../dependencies.ts'
import type { LockedAuthor } from '../lock-author.ts'
import { recordEvent } from '../outbox.ts'
import { requireRole, type MemberPrincipal } from '../principal.ts'
import { recordAudit } from '../record-audit.ts'
import { endAccess } from './end-access.ts'
import { findMember, refuseHigherRole, requireAnotherOwner } from './membership-changes.ts'

/** The caller has locked the owners, and then the author. */
export async function endMember(
  tx: Transaction,
  clock: Clock,
  author: LockedAuthor<MemberPrincipal>,
  userId: string,
): Promise<Awaited<ReturnType<typeof findMember>>> {
  const { orgId } = author
  const leaving = userId === author.userId
  const target = await findMember(tx, orgId, userId)
  if (!leaving) {
    requireRole(author, 'admin', 'Only owners and admins may remove others')
    refuseHigherRole(author, target.role)
  }
  if (target.role === 'owner') await requireAnotherOwner(tx, orgId, userId)
  await endAccess(tx, clock, { orgId, userId }, null, author)
  await recordEvent(tx, clock, {
    orgId,
    type: 'org.member.removed',
    subject: `members/${userId}`,
    source: 'members',
    // They can come back, and leave again.
    dedupKey: `removed:${userId}:${randomUUID()}`,
    actorId: author.userId,
    data: { user_id: userId },
  })
  await recordAudit(tx, clock, author, {
    orgId,
    action: leaving ? 'member.left' : 'member.removed',
    subject: target.email,
  })
  return target
}
