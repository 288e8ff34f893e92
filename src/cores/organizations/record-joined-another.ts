/** A joining is in both audit trails: of the organization somebody joins, and of the one they worked in. */
import type { Transaction } from '../../../db/connect.ts'
import type { Clock } from '../dependencies.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import type { currentMembership } from './current-membership.ts'

/** `elsewhere` is read before they join: whoever has their session might carry something over. */
export async function recordJoinedAnother(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  elsewhere: Awaited<ReturnType<typeof currentMembership>>,
  joined: string,
): Promise<void> {
  if (!elsewhere) return
  const { id: orgId } = elsewhere.org
  await recordAudit(tx, clock, actor, { orgId, action: 'member.joined_another', subject: joined })
}
