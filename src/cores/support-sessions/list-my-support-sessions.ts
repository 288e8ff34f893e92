/** The organizations in which the principal, as support staff, has a live session. */
import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { organizations, supportSessions } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireUserId } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { isLive, levelOf } from './live-support-session.ts'

export const listMySupportSessions =
  ({ db, clock }: Storage): Handler<'listMySupportSessions'> =>
  async (principal, { limit, cursor }) => {
    const before = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select({
        session: supportSessions,
        organization: { id: organizations.id, name: organizations.name, slug: organizations.slug },
      })
      .from(supportSessions)
      .innerJoin(organizations, eq(organizations.id, supportSessions.orgId))
      .where(
        and(
          eq(supportSessions.staffId, requireUserId(principal)),
          isLive(clock),
          before === undefined ? undefined : lt(supportSessions.id, before),
        ),
      )
      .orderBy(desc(supportSessions.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, ({ session }) => [session.id])
    return {
      support_sessions: page.rows.map(({ session, organization }) => ({
        id: session.id,
        organization,
        level: levelOf(session),
        expires_at: session.expiresAt.toISOString(),
      })),
      next_cursor: page.next_cursor,
    }
  }
