import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { supportSessions, users } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { presentSupportSession, SUPPORT_SESSION_COLUMNS } from './present-support-session.ts'

export const listSupportSessions =
  ({ db, clock }: Storage): Handler<'listSupportSessions'> =>
  async (principal, { limit, cursor }) => {
    const { orgId } = requireMember(principal)
    const before = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select(SUPPORT_SESSION_COLUMNS)
      .from(supportSessions)
      .innerJoin(users, eq(users.id, supportSessions.staffId))
      .where(
        and(
          eq(supportSessions.orgId, orgId),
          before === undefined ? undefined : lt(supportSessions.id, before),
        ),
      )
      .orderBy(desc(supportSessions.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, ({ session }) => [session.id])
    return {
      support_sessions: page.rows.map(({ session, staff }) => presentSupportSession(session, staff, clock())),
      next_cursor: page.next_cursor,
    }
  }
