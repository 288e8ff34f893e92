import { eq } from '../../../db/drizzle.ts'
import { supportSessions, users } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'
import { presentSupportSession, SUPPORT_SESSION_COLUMNS } from './present-support-session.ts'

export const listSupportSessions: Verb<'listSupportSessions'> = list(
  { rows: 'support_sessions', desc: [supportSessions.id] },
  async ({ db, clock, orgId, page }) =>
    page({
      from: () =>
        db
          .select(SUPPORT_SESSION_COLUMNS)
          .from(supportSessions)
          .innerJoin(users, eq(users.id, supportSessions.staffId)),
      where: eq(supportSessions.orgId, orgId),
      key: ({ session }) => [session.id],
      present: (rows) => rows.map(({ session, staff }) => presentSupportSession(session, staff, clock())),
    }),
)
