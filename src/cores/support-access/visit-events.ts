/** Owners and admins hear of a visit from the transaction that began or raised it. */
import type { Transaction } from '../../../db/connect.ts'
import type { supportSessions } from '../../../db/schema.ts'
import type { Clock } from '../needs.ts'
import { recordEvent } from '../notifications/index.ts'

export async function tellOwners(
  tx: Transaction,
  clock: Clock,
  visit: typeof supportSessions.$inferSelect,
  type: 'org.support_access.started' | 'org.support_access.elevated',
): Promise<void> {
  await recordEvent(tx, clock, {
    orgId: visit.orgId,
    type,
    subject: `support-sessions/${visit.id}`,
    source: 'support-access',
    // A visit begins once and is raised once.
    dedupKey: `${type}:${visit.id}`,
    actorId: visit.staffId,
    data: { support_session_id: visit.id },
  })
}
