/** The audit trail of one organization, newest first. */
import { and, eq, gte, ilike, inArray, lt, or } from '../../../db/drizzle.ts'
import { auditLog } from '../../../db/schema.ts'
import { AUDIT_ACTIONS, type AuditAction } from '../../contracts/audit.ts'
import { firstIdOf } from '../../contracts/ids.ts'
import { likePattern } from '../like-pattern.ts'
import { list, type Verb } from '../list.ts'

export const listAudit: Verb<'listAudit'> = list(
  { rows: 'audit', desc: [auditLog.id] },
  async ({ db, old = db, orgId, page }, { action, user_id, search, from, to }) =>
    page({
      from: () => old.select().from(auditLog),
      where: and(
        eq(auditLog.orgId, orgId),
        action && eq(auditLog.action, action),
        user_id === undefined ? undefined : eq(auditLog.actorId, user_id),
        search ? contains(search) : undefined,
        // An id begins with the time of its row: the index by id then reads the period, and not the whole trail.
        from === undefined ? undefined : gte(auditLog.id, firstIdOf('aud', Date.parse(from))),
        to === undefined ? undefined : lt(auditLog.id, firstIdOf('aud', Date.parse(to))),
      ),
      key: (row) => [row.id],
      present: (rows) =>
        rows.map((row) => ({
          id: row.id,
          at: row.at.toISOString(),
          action: row.action,
          actor: { kind: row.actorKind, id: row.actorId, name: row.actorName },
          subject: row.subject,
          request_id: row.requestId,
          support_session_id: row.supportSessionId,
        })),
    }),
)

/** What was done is stored as a code, and searched for in the words that people read. */
function contains(text: string) {
  const words = text.toLowerCase()
  const actions = (Object.keys(AUDIT_ACTIONS) as AuditAction[]).filter((action) =>
    AUDIT_ACTIONS[action].toLowerCase().includes(words),
  )
  return or(
    actions.length > 0 ? inArray(auditLog.action, actions) : undefined,
    ...[auditLog.subject, auditLog.actorName, auditLog.requestId].map((column) =>
      ilike(column, likePattern(text)),
    ),
  )
}
