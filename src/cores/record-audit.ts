/** Writes one row of the audit trail, in the transaction of the change it describes. */
import type { Transaction } from '../../db/connect.ts'
import { auditLog } from '../../db/schema.ts'
import type { AuditAction } from '../contracts/audit.ts'
import { makeId } from '../contracts/ids.ts'
import type { Principal } from '../contracts/operation.ts'
import { requireDeclared } from './declared-rows.ts'
import type { Clock } from './dependencies.ts'

export type AuditActor = Pick<
  Principal,
  'kind' | 'userId' | 'userName' | 'requestId' | 'supportSessionId'
> & {
  readonly orgId?: string | null
}

export const recordAudit = (
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  entry: { orgId: string; action: AuditAction; subject?: string },
): Promise<void> => recordAudits(tx, clock, actor, entry, [entry.subject ?? null])

/** A row for each subject, in one statement. */
export async function recordAudits(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  { orgId, action }: { readonly orgId: string; readonly action: AuditAction },
  subjects: readonly (string | null)[],
): Promise<void> {
  requireDeclared(tx, 'audit', action)
  const at = clock()
  const rowOf = (subject: string | null) => ({
    orgId,
    id: makeId('aud', at.getTime()),
    at,
    action,
    actorKind: actor.kind === 'anonymous' ? ('system' as const) : actor.kind,
    actorId: actor.userId,
    actorName: actor.userName,
    subject,
    requestId: actor.requestId,
    // What support staff do at the same moment in an organization of their own is not part of the support session.
    supportSessionId: actor.orgId === orgId ? (actor.supportSessionId ?? null) : null,
  })
  // A statement takes 65,535 values.
  for (let from = 0; from < subjects.length; from += ROWS_AT_ONCE)
    await tx.insert(auditLog).values(subjects.slice(from, from + ROWS_AT_ONCE).map(rowOf))
}

const ROWS_AT_ONCE = 1_000
