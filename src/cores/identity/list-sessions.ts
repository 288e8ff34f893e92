import { and, eq, gt, isNull } from '../../../db/drizzle.ts'
import { sessions } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'

export const listSessions: Verb<'listSessions'> = list(
  { by: 'person', rows: 'sessions', desc: [sessions.id] },
  async ({ db, clock, userId, principal, page }) =>
    page({
      from: () => db.select().from(sessions),
      where: and(eq(sessions.userId, userId), isNull(sessions.endedAt), gt(sessions.expiresAt, clock())),
      key: (row) => [row.id],
      present: (rows) =>
        rows.map((row) => ({
          id: row.id,
          kind: row.kind,
          signed_in_by: row.signedInBy,
          device: row.device,
          created_at: row.createdAt.toISOString(),
          last_used_at: row.lastUsedAt.toISOString(),
          expires_at: row.expiresAt.toISOString(),
          current: row.id === principal.sessionId,
        })),
    }),
)
