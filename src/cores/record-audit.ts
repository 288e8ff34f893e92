/** Writes one row of the audit trail, in the transaction of the change it describes. */
import type { Transaction } from '../../db/connect.ts'
import { auditLog } from '../../db/schema.ts'
import type { AuditAction } from '../contracts/audit.ts'
import { makeId } from '../contracts/ids.ts'
import type { Principal } from '../contracts/operation.ts'
import type { Clock } from './dependencies.ts'

export type AuditActor = Pick<
  Principal,
  'kind' | 'userId' | 'userName' | 'requestId' | 'supportSessionId'
> & {
  readonly orgId?: string | null
}

export async function recordAudit(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  entry: { orgId: string; action: AuditAction; subject?: string },
): Promise<void> {
  const at = clock()
  await tx.insert(auditLog).values({
    orgId: entry.orgId,
    id: makeId('aud', at.getTime()),
    at,
    action: entry.action,
    actorKind: actor.kind === 'anonymous' ? 'system' : actor.kind,
    actorId: actor.userId,
    actorName: actor.userName,
    subject: entry.subject ?? null,
    requestId: actor.requestId,
    // What support staff do at the same moment in an organization of their own is not part of the support session.
    supportSessionId: actor.orgId === entry.orgId ? (actor.supportSessionId ?? null) : null,
  })
}
