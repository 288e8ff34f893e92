/** A support session as the API returns it. */
import { supportSessions, users } from '../../../db/schema.ts'
import { levelOf } from './live-support-session.ts'

type SupportSessionRow = typeof supportSessions.$inferSelect
type Staff = { id: string; email: string; name: string }

export const SUPPORT_SESSION_COLUMNS = {
  session: supportSessions,
  staff: { id: users.id, email: users.email, name: users.name },
}

export const presentSupportSession = (row: SupportSessionRow, staff: Staff, now: Date) => ({
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
