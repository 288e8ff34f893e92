/** How a visit leaves the house. */
import { supportSessions, users } from '../../../db/schema.ts'
import { levelOf } from './live-visit.ts'

export type VisitRow = typeof supportSessions.$inferSelect
type Staff = { id: string; email: string; name: string }

export const VISIT_COLUMNS = {
  visit: supportSessions,
  staff: { id: users.id, email: users.email, name: users.name },
}

export const presentVisit = (row: VisitRow, staff: Staff, now: Date) => ({
  id: row.id,
  staff,
  reason: row.reason,
  level: levelOf(row),
  elevation_reason: row.elevationReason,
  live: row.endedAt === null && row.expiresAt > now,
  started_at: row.startedAt.toISOString(),
  expires_at: row.expiresAt.toISOString(),
  ended_at: row.endedAt?.toISOString() ?? null,
})
