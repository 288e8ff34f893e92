import { and, desc, eq, gt, isNull, lt } from '../../../db/drizzle.ts'
import { sessions } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireUserId } from '../principal.ts'
import type { Storage } from '../dependencies.ts'

export const listSessions =
  ({ db, clock }: Storage): Handler<'listSessions'> =>
  async (principal, { limit, cursor }) => {
    const before = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select()
      .from(sessions)
      .where(
        and(
          eq(sessions.userId, requireUserId(principal)),
          isNull(sessions.endedAt),
          gt(sessions.expiresAt, clock()),
          before === undefined ? undefined : lt(sessions.id, before),
        ),
      )
      .orderBy(desc(sessions.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    return {
      sessions: page.rows.map((row) => ({
        id: row.id,
        signed_in_by: row.signedInBy,
        device: row.device,
        created_at: row.createdAt.toISOString(),
        last_used_at: row.lastUsedAt.toISOString(),
        expires_at: row.expiresAt.toISOString(),
        current: row.id === principal.sessionId,
      })),
      next_cursor: page.next_cursor,
    }
  }
