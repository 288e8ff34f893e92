/** Writes one row of the audit trail in the transaction of the change it tells about. */
import type { Transaction } from '../../../db/connect.ts'
import { auditLog } from '../../../db/schema.ts'
import type { AuditAction } from '../../contracts/audit.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Caller } from '../../contracts/operation.ts'
import type { Clock } from '../needs.ts'

export type AuditBy = Pick<Caller, 'kind' | 'userId' | 'userName' | 'requestId' | 'supportSessionId'> & {
  readonly orgId?: string | null
}

export async function recordAudit(
  tx: Transaction,
  clock: Clock,
  by: AuditBy,
  entry: { orgId: string; action: AuditAction; subject?: string },
): Promise<void> {
  const at = clock()
  await tx.insert(auditLog).values({
    orgId: entry.orgId,
    id: makeId('aud', at.getTime()),
    at,
    action: entry.action,
    actorKind: by.kind === 'anonymous' ? 'system' : by.kind,
    actorId: by.userId,
    actorName: by.userName,
    subject: entry.subject ?? null,
    requestId: by.requestId,
    // What a visitor does elsewhere at the same moment, in an organization of their own, is no part of the visit.
    supportSessionId: by.orgId === entry.orgId ? (by.supportSessionId ?? null) : null,
  })
}
